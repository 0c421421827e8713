//! Finds the strings and numbers in JSON, to report values at which a parser stops.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// Iterates over the strings, including member names, and the numbers of a JSON document. Returns their positions and
/// their source. Strings include their quotation marks.
pub(super) struct JsonTokens<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> JsonTokens<'a> {
    /// Returns the tokens after a position. The position must not be inside a string.
    pub(super) fn behind(text: &'a str, position: usize) -> Self {
        Self { text, position }
    }
}

impl<'a> Iterator for JsonTokens<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.position..)?;
        let is_start = |each: char| each == '"' || each == '-' || each.is_ascii_digit();
        let start = self.position + rest.find(is_start)?;
        let rest = self.text.get(start..)?;
        let length = if rest.starts_with('"') {
            string_length(rest)?
        } else {
            let is_part = |each: char| each.is_ascii_digit() || "+-.eE".contains(each);
            rest.find(|each| !is_part(each)).unwrap_or(rest.len())
        };
        self.position = start + length;
        Some((start, rest.get(..length)?))
    }
}

/// Returns the length of the string at the beginning of the JSON, including both quotation marks.
fn string_length(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'"' => return Some(index + 1),
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    None
}

/// Replaces lone surrogates and numbers beyond 64 bits, because a parser stops at them. All other values and all
/// positions stay the same.
pub fn readable(text: &str) -> Cow<'_, str> {
    let mut readable = String::new();
    let mut copied = 0;
    let mut replace = |start: usize, length: usize, replacement: &str| {
        readable.push_str(text.get(copied..start).unwrap_or_default());
        // JSON allows white space after a number, so the length is kept.
        readable.push_str(&format!("{replacement:<length$}"));
        copied = start + length;
    };
    for (start, token) in JsonTokens::behind(text, 0) {
        if token.starts_with('"') {
            for place in lone_surrogates(token) {
                replace(start + place, ESCAPE_BYTES, r"\ufffd");
            }
        } else if is_out_of_range(token) {
            replace(start, token.len(), "0.0");
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    readable.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(readable)
}

/// Returns `true` if a number is larger than the largest 64-bit number.
fn is_out_of_range(number: &str) -> bool {
    let is_long = number.len() > 300 || number.contains(['e', 'E']);
    is_long
        && number.parse::<f64>().is_ok_and(f64::is_infinite)
        && serde_json::from_str::<IgnoredAny>(number).is_ok()
}

/// Returns the position of the first half of a surrogate pair without its other half. `\ud800` alone is not a
/// character.
pub(super) fn lone_surrogate(text: &str) -> Option<usize> {
    lone_surrogates(text).next()
}

fn lone_surrogates(text: &str) -> impl Iterator<Item = usize> {
    let mut escapes = Escapes { text, at: 0 }.peekable();
    std::iter::from_fn(move || {
        loop {
            let (offset, unit) = escapes.next()?;
            match unit {
                // The other half must follow immediately.
                0xD800..0xDC00 => match escapes.peek() {
                    Some((next, 0xDC00..0xE000)) if *next == offset + ESCAPE_BYTES => {
                        escapes.next();
                    }
                    _ => return Some(offset),
                },
                0xDC00..0xE000 => return Some(offset),
                _ => {}
            }
        }
    })
}

/// Length of `\uXXXX` in bytes.
const ESCAPE_BYTES: usize = 6;

/// Iterates over the `\uXXXX` escapes of a JSON document, with their positions.
struct Escapes<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Escapes<'_> {
    type Item = (usize, u16);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.text.get(self.at..)?;
            let offset = self.at + rest.find('\\')?;
            let escape = self.text.as_bytes().get(offset + 1)?;
            if *escape != b'u' {
                // Another escape, for example `\\`. Valid JSON has no multi-byte character here.
                self.at = offset + 1 + escape_length(*escape);
                continue;
            }
            self.at = offset + 2;
            let digits = self.text.get(offset + 2..offset + 6);
            if let Some(unit) = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
                self.at = offset + 6;
                return Some((offset, unit));
            }
        }
    }
}

/// Returns the number of bytes to skip after a backslash: one for an ASCII escape, otherwise none.
fn escape_length(byte: u8) -> usize {
    usize::from(byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_parser_reads_is_replaced_in_its_place() {
        // REQ-ENC-01, REQ-ENC-05
        for (text, expected) in [
            (r#"{"a":[1,"é",1e308]}"#, None),
            (r#"["1e999","\\ud800","\ud83d\ude00"]"#, None),
            // These are not JSON.
            ("[01e999]", None),
            ("[1e999-]", None),
            (r#"["\ud8"]"#, None),
            ("[1e999,2]", Some("[0.0  ,2]")),
            (r#"{"\ud800":-1e999}"#, Some(r#"{"\ufffd":0.0   }"#)),
            (r#"["\ud800\ud800\udc00"]"#, Some(r#"["\ufffd\ud800\udc00"]"#)),
        ] {
            let readable = readable(text);
            assert_eq!(&*readable, expected.unwrap_or(text));
            assert_eq!(matches!(readable, Cow::Owned(_)), expected.is_some(), "{text}");
            assert_eq!(readable.len(), text.len());
        }
    }
}
