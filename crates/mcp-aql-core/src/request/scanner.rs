//! Scans JSON in one pass without building values.

/// Maximum nesting depth of a scanned value. Deeper values are left to the parser.
const MAX_SCANNED_DEPTH: usize = 16;
/// Maximum number of digits of an integer. With this length, every integer fits into 64 bits.
const MAX_INTEGER_DIGITS: usize = 18;
/// Maximum length of a number with a fraction. Up to this length, every parser reads it exactly.
const MAX_FRACTION_BYTES: usize = 16;

/// Finds the positions of values in JSON. Use it as a fast path before the parser.
///
/// The scanner only accepts JSON that every parser reads in the same way and without loss. For everything else, valid
/// or not, its methods return `None`. The caller must then pass the JSON to the parser.
///
/// ```text
/// {"a":1}          accepted
/// {"a":1e5}        None: an exponent
/// {"a":"\ud800"}   None: half of a surrogate pair
/// ```
#[derive(Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    /// The part not read yet.
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of the JSON. Returns `None` if it contains control characters. The scanner can then
    /// ignore them everywhere: between values, where some are valid, and in strings, where none is.
    pub fn new(text: &'a str) -> Option<Self> {
        let rest = text.as_bytes();
        // `all` would stop early, and is therefore not vectorized.
        let has_control = rest.iter().fold(false, |found, byte| found | (*byte < 0x20));
        (!has_control).then_some(Self { text, rest })
    }

    /// Returns the JSON read since a position.
    #[inline]
    pub fn text_since(&self, start: usize) -> &'a str {
        self.text.get(start..self.offset()).unwrap_or_default()
    }

    /// Reads an object. Calls `member` with each name. The function must read the value.
    #[inline]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a str) -> Option<()>,
    ) -> Option<()> {
        self.expect(b'{')?;
        if self.next_is(b'}') {
            return Some(());
        }
        loop {
            let name = self.plain_string()?;
            self.expect(b':')?;
            member(self, name)?;
            match self.next_byte()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads a string without escapes. Returns its content.
    #[inline]
    pub fn plain_string(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let start = self.offset();
        let length = plain_length(self.rest)?;
        let (_, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest.strip_prefix(b"\"")?;
        self.text.get(start..start + length)
    }

    /// Reads any value. Returns its JSON.
    pub fn value(&mut self) -> Option<&'a str> {
        let start = self.position();
        self.value_at(0)?;
        Some(self.text_since(start))
    }

    /// Skips white space, and returns the position after it.
    #[inline]
    pub fn position(&mut self) -> usize {
        self.skip_space();
        self.offset()
    }

    /// Expects the end of the JSON.
    pub fn end(&mut self) -> Option<()> {
        self.skip_space();
        self.rest.is_empty().then_some(())
    }

    /// Reads a value that starts at the current position.
    #[inline]
    fn value_at(&mut self, depth: usize) -> Option<()> {
        match self.rest.first()? {
            b'"' => self.string(),
            b'{' | b'[' => self.nested_value(depth),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn nested_value(&mut self, depth: usize) -> Option<()> {
        if depth == MAX_SCANNED_DEPTH {
            return None;
        }
        let inner = |scanner: &mut Self| {
            scanner.skip_space();
            scanner.value_at(depth + 1)
        };
        if self.rest.first() == Some(&b'{') {
            return self.object(|scanner, _| inner(scanner));
        }
        self.expect(b'[')?;
        if self.next_is(b']') {
            return Some(());
        }
        loop {
            inner(self)?;
            match self.next_byte()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads a string. It may contain escapes, except those of U+0000 and of surrogates.
    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            let length = plain_length(self.rest)?;
            let (_, rest) = self.rest.split_at_checked(length)?;
            match rest {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return Some(());
                }
                [_, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', rest @ ..] => {
                    self.rest = rest;
                }
                [_, b'u', a, b, c, d, rest @ ..] => {
                    if !is_character([*a, *b, *c, *d]) {
                        return None;
                    }
                    self.rest = rest;
                }
                _ => return None,
            }
        }
    }

    fn literal(&mut self, literal: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(literal)?;
        Some(())
    }

    /// Reads a number without an exponent whose value fits into 64 bits.
    fn number(&mut self) -> Option<()> {
        let sign = usize::from(self.rest.first() == Some(&b'-'));
        let digits = digits_at(self.rest, sign);
        let has_leading_zero = digits > 1 && self.rest.get(sign) == Some(&b'0');
        if digits == 0 || digits > MAX_INTEGER_DIGITS || has_leading_zero {
            return None;
        }
        let mut length = sign + digits;
        match self.rest.get(length) {
            Some(b'.') => {
                let fraction = digits_at(self.rest, length + 1);
                length += 1 + fraction;
                if fraction == 0 || length > MAX_FRACTION_BYTES {
                    return None;
                }
            }
            // Parsers read `-0` as a number with a fraction.
            _ if self.rest.starts_with(b"-0") => return None,
            _ => {}
        }
        self.rest = self.rest.get(length..)?;
        (!matches!(self.rest.first(), Some(b'e' | b'E'))).then_some(())
    }

    #[inline]
    fn offset(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Skips white space, and reads one byte.
    #[inline]
    fn next_byte(&mut self) -> Option<u8> {
        self.skip_space();
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Reads this byte after white space. Returns `false` if another one follows.
    #[inline]
    fn next_is(&mut self, byte: u8) -> bool {
        self.skip_space();
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        self.next_is(byte).then_some(())
    }
}

/// Returns the number of bytes before the next quotation mark or backslash. Most strings are short, so comparing
/// eight bytes at a time is faster than a vectorized search.
#[inline]
fn plain_length(text: &[u8]) -> Option<usize> {
    let (words, rest) = text.as_chunks::<8>();
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\');
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let ends = zero_bytes(word ^ repeated(b'"')) | zero_bytes(word ^ repeated(b'\\'));
        if ends != 0 {
            return Some(index * 8 + ends.trailing_zeros() as usize / 8);
        }
    }
    Some(words.len() * 8 + rest.iter().position(is_end)?)
}

/// Returns a word of eight equal bytes.
const fn repeated(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Sets the highest bit of the first zero byte. The bits of later bytes are meaningless.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(repeated(1)) & !word & repeated(0x80)
}

/// Returns `true` if these hexadecimal digits are a complete character other than U+0000.
fn is_character(digits: [u8; 4]) -> bool {
    let unit = digits
        .iter()
        .try_fold(0, |unit, digit| char::from(*digit).to_digit(16).map(|digit| unit * 16 + digit));
    unit.is_some_and(|unit| !matches!(unit, 0 | 0xD800..=0xDFFF))
}

/// Returns the number of digits that start at this position.
fn digits_at(text: &[u8], start: usize) -> usize {
    let digits = text.get(start..).unwrap_or_default().iter();
    digits.take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn scans(text: &str) -> bool {
        let Some(mut scanner) = Scanner::new(text) else { return false };
        scanner.value().is_some() && scanner.end().is_some()
    }

    #[test]
    fn only_text_that_all_parsers_read_alike_is_accepted() {
        // REQ-ENC-01, REQ-ENC-05
        for text in [
            r#" { "a" : [ 1 , -2.5 , "é\n\u00e9" ] , "b" : { } , "c" : [ ] } "#,
            "0",
            "-7",
            "999999999999999999",
            "0.00001",
            "true",
            "null",
            r#""\"\\\/\b\f\n\r\t""#,
        ] {
            assert!(scans(text), "{text}");
        }
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "01",
            "-",
            "-0",
            "1.",
            ".5",
            "1e3",
            "1E3",
            "1.0e2",
            "9999999999999999999",
            "0.1234567890123456",
            "trux",
            "nul",
            "\"a",
            "\"\u{1}\"",
            "[1,\n2]",
            "\t1",
            r#""\x""#,
            r#""\u00g0""#,
            r#""\u+0e9""#,
            r#""\u0000""#,
            r#""\ud83d\ude00""#,
            r#""\ud800""#,
            r#"{"\u0061":1}"#,
            "1 2",
            "[1 2]",
        ] {
            assert!(!scans(text), "{text}");
        }
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(scans(&nested(MAX_SCANNED_DEPTH)) && !scans(&nested(MAX_SCANNED_DEPTH + 1)));
    }

    #[test]
    fn the_members_of_an_object_are_found() {
        let mut scanner = Scanner::new(r#"{"a":"x", "b":[1, {"c":2}]}"#).unwrap();
        let mut found = Vec::new();
        let read = scanner.object(|scanner, name| {
            let value = scanner.value()?;
            found.push((name, value));
            Some(())
        });
        assert_eq!(read, Some(()));
        assert_eq!(found, [("a", r#""x""#), ("b", r#"[1, {"c":2}]"#)]);
    }

    #[test]
    fn the_end_of_plain_text_is_found_at_every_position() {
        for (length, end) in (0..40).flat_map(|length| [(length, '"'), (length, '\\')]) {
            // Contains the characters before and after the searched ones in ASCII, and others.
            let plain: String = "!#[]é\u{7f}a".chars().cycle().take(length).collect();
            let text = format!("{plain}{end}\"\\x");
            assert_eq!(plain_length(text.as_bytes()), Some(plain.len()), "{text}");
            assert_eq!(plain_length(plain.as_bytes()), None);
        }
    }

    /// Generates strings, many of them valid JSON.
    fn nearly_json() -> impl Strategy<Value = String> {
        let token = prop_oneof![
            Just("{"),
            Just("}"),
            Just("["),
            Just("]"),
            Just(","),
            Just(":"),
            Just("\"a\""),
            Just("\"\\n\""),
            Just("\"\\u00e9\""),
            Just("1"),
            Just("-0"),
            Just("0.5"),
            Just("1e2"),
            Just("true"),
            Just("null"),
            Just(" "),
            Just("\"é\""),
            Just("00"),
        ];
        proptest::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        #[test]
        fn accepted_text_is_json(text in nearly_json()) {
            if scans(&text) {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
            }
        }

        #[test]
        fn arbitrary_text_causes_no_panic(text in "\\PC*|[\u{0}-\u{10ffff}]*") {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(scans(&json), !text.contains('\0'), "{}", json);
            let _ = scans(&text);
        }
    }
}
