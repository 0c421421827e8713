//! Compares numbers and symbols, to distinguish documents of nearly the same words.
//!
//! ```text
//! Flight 17 is late   ≠  Flight 18 is late
//! if a > b            ≠  if a < b
//! up to 6,000 bytes   =  up to 6000 bytes
//! ```

use crate::text::{has_no_spaces, mix};

/// A sequence of numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Numbers {
    count: u32,
    /// A hash of all numbers in order.
    hash: u64,
}

impl Numbers {
    /// Returns `true` if the numbers were replaced. If the counts differ, the numbers cannot be
    /// matched to each other.
    fn differ(self, other: Self) -> bool {
        self.count == other.count && self.hash != other.hash
    }
}

/// The characters between two words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Gap {
    numbers: Numbers,
    /// A hash of the symbols except punctuation; 0 for none.
    signs: u64,
    /// If `true`, a symbol is part of a word, so that the word without it is a different one:
    /// `C++`, `!ready`.
    strong: bool,
}

/// The gaps of a document, by the words around them.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// Gaps by the words before and after them.
    between: Vec<(u64, Gap)>,
    /// Numbers by the two words before them.
    after: Vec<(u64, Numbers)>,
}

impl Details {
    pub(super) fn of(text: &str) -> Self {
        let mut reader = DetailsReader { line_begins: true, ..DetailsReader::default() };
        let mut chars = text.chars();
        let mut before = '\n';
        while let Some(c) = chars.next() {
            reader.read(before, c, chars.as_str());
            before = c;
        }
        reader.end_word();
        reader.word(END);
        let mut details = reader.details;
        details.between.sort_unstable_by_key(|(around, _)| *around);
        details.after.sort_unstable();
        details
    }

    /// Returns `true` if two documents have different numbers or symbols between the same words.
    pub(super) fn differ(&self, other: &Self) -> bool {
        let gaps = |one: Gap, other: Gap| {
            let signs = one.signs != other.signs
                && (one.signs != 0 && other.signs != 0 || one.strong || other.strong);
            signs || one.numbers.differ(other.numbers)
        };
        any_common(&self.between, &other.between, gaps)
            || any_common(&self.after, &other.after, Numbers::differ)
    }
}

/// Returns `true` if the condition holds for any two values with the same key. Keys repeated in one
/// of the documents are ignored, because their values cannot be matched.
fn any_common<T: Copy>(one: &[(u64, T)], other: &[(u64, T)], holds: impl Fn(T, T) -> bool) -> bool {
    let same = |one: &(u64, T), other: &(u64, T)| one.0 == other.0;
    let mut others = other.chunk_by(same).peekable();
    one.chunk_by(same).any(|entries| {
        let [(key, value)] = entries else { return false };
        while others.next_if(|next| next.first().is_some_and(|next| next.0 < *key)).is_some() {}
        matches!(others.peek(), Some([(found, other)]) if found == key && holds(*value, *other))
    })
}

/// The key for the end of the document.
const END: u64 = 1;

#[derive(Debug, Default)]
struct DetailsReader {
    details: Details,
    /// The last two words.
    words: [u64; 2],
    gap: Gap,
    /// The hash of the current word. `has_digits` is `true` if the word contains digits.
    word: u64,
    in_word: bool,
    has_digits: bool,
    /// If `true`, the line contains only marks of lists, quotations or headings so far.
    line_begins: bool,
}

impl DetailsReader {
    fn read(&mut self, before: char, c: char, rest: &str) {
        // Fast path: most characters are ASCII letters and digits.
        if c.is_ascii_alphanumeric() {
            self.line_begins = false;
            self.in_word = true;
            self.has_digits |= c.is_ascii_digit();
            self.add(c.to_ascii_lowercase());
            return;
        }
        if is_mark(c) {
            return;
        }
        let next = rest.chars().next().unwrap_or('\n');
        if c.is_alphanumeric() {
            self.line_begins = false;
            if has_no_spaces(c) {
                self.end_word();
                if is_numeral(c) {
                    self.number(u64::from(c))
                } else {
                    self.word(u64::from(c))
                }
                return;
            }
            self.in_word = true;
            self.has_digits |= c.is_numeric();
            for lower in c.to_lowercase() {
                self.add(lower);
            }
            return;
        }
        if self.in_word && self.has_digits && next.is_numeric() {
            match c {
                // `6,000` is `6000`.
                ',' | '\'' | '’' if are_thousands(rest) => return,
                // For example `1.5`, `10:30` or `2026-01-31`.
                '.' | ',' | ':' | '/' | '-' | '–' => {
                    self.add(c);
                    return;
                }
                _ => {}
            }
        }
        self.end_word();
        self.sign(before, c, next);
        self.line_begins = c == '\n'
            || self.line_begins
                && (c.is_whitespace() || matches!(c, '>' | '#' | '-' | '*' | '+' | '|'));
    }

    fn sign(&mut self, before: char, c: char, next: char) {
        let behind_word = before.is_alphanumeric();
        match c {
            '-' | '−' if next.is_numeric() && !behind_word && before != ')' => {
                (self.in_word, self.has_digits) = (true, true);
                self.add('-');
            }
            '!' if next.is_alphanumeric() && !behind_word => self.strong(c),
            '#' | '+'
                if !next.is_alphanumeric() && (behind_word || self.gap.strong && before == c) =>
            {
                self.strong(c);
            }
            '!' if next == '=' => self.weak(c),
            // A line under a heading carries no meaning.
            '=' if before == '=' && next == '=' => {}
            '|' if before == '|' || next == '|' => self.weak(c),
            '>' | '+' if self.line_begins => {}
            '<' | '>' | '=' | '+' | '%' | '$' | '&' | '^' | '@' | '/' => self.weak(c),
            _ if c.is_ascii() || is_punctuation(c) => {}
            _ => self.weak(c),
        }
    }

    fn add(&mut self, c: char) {
        let word = self.word.rotate_left(5) ^ u64::from(c);
        self.word = word.wrapping_mul(0xA24B_AED4_963E_E407);
    }

    fn weak(&mut self, c: char) {
        self.gap.signs = mix(self.gap.signs ^ u64::from(c));
    }

    fn strong(&mut self, c: char) {
        self.weak(c);
        self.gap.strong = true;
    }

    fn number(&mut self, number: u64) {
        let Numbers { count, hash } = &mut self.gap.numbers;
        (*count, *hash) = (count.saturating_add(1), mix(*hash ^ number));
    }

    fn end_word(&mut self) {
        let word = mix(std::mem::take(&mut self.word));
        if std::mem::take(&mut self.in_word) {
            if std::mem::take(&mut self.has_digits) { self.number(word) } else { self.word(word) }
        }
    }

    fn word(&mut self, word: u64) {
        let gap = std::mem::take(&mut self.gap);
        let [first, second] = self.words;
        self.details.between.push((pair(second, word), gap));
        if gap.numbers.count > 0 {
            self.details.after.push((pair(first, second), gap.numbers));
        }
        self.words = [second, word];
    }
}

fn pair(one: u64, other: u64) -> u64 {
    mix(one.wrapping_mul(0xA24B_AED4_963E_E407).wrapping_add(other))
}

/// Returns `true` if a string begins with exactly three digits.
fn are_thousands(rest: &str) -> bool {
    rest.chars().take_while(|c| c.is_numeric()).take(4).count() == 3
}

/// Returns `true` if a character is a number in a script that writes words without spaces.
fn is_numeral(c: char) -> bool {
    matches!(c, '〇' | '零' | '一' | '二' | '三' | '四' | '五' | '六' | '七' | '八' | '九')
        || matches!(c, '十' | '百' | '千' | '万' | '萬' | '億' | '亿' | '兆' | '两' | '兩')
}

/// Returns `true` if a character is a combining accent or a variation selector.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36F | 0xFE00..=0xFE0F | 0xE0100..=0xE01EF)
}

/// Returns `true` if a character beyond ASCII is punctuation of sentences, lists or tables.
fn is_punctuation(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '¡' | '§' | '«' | '¶' | '·' | '»' | '¿')
        || matches!(u32::from(c), 0x2000..=0x206F | 0x2500..=0x25FF | 0x3000..=0x303F
            | 0xFE30..=0xFE4F | 0xFF01..=0xFF0F | 0xFF1A..=0xFF20 | 0xFF3B..=0xFF40 | 0xFF5B..=0xFF65)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_symbols_distinguish_texts_and_punctuation_does_not() {
        for (one, other, expected) in [
            ("status ✅ today", "status ❌ today", true),
            ("status ✅ today", "Status today", false),
            ("if a > b then", "if a < b then", true),
            ("if a != b then", "if a = b then", true),
            ("if a || b then", "if a && b then", true),
            ("if !ready then", "if ready then", true),
            ("a book on C++ in depth", "a book on C# in depth", true),
            ("a book on C++ in depth", "a book on C in depth", true),
            ("balance of -100 euro", "balance of 100 euro", true),
            ("it costs 5 % more", "it costs 5 € more", true),
            ("sailing 17 north", "sailing 18 north", true),
            ("the captain of sailing 17 north", "the captain of sailing 18 south", true),
            ("version 1.5 is out", "version 15 is out", true),
            ("on 2026-01-31 we", "on 2026-02-28 we", true),
            ("rows 3 5 7 are", "rows 4 6 8 are", true),
            ("use h264 here", "use h265 here", true),
            ("旅客三十万人次", "旅客九十万人次", true),
            ("旅客30万人次", "旅客90万人次", true),
            ("up to 6,000 of them", "up to 6000 of them", false),
            ("up to 6,5 of them", "up to 65 of them", true),
            ("and 0.8 8 of", "and 0.8 of", false),
            ("see it, now!", "see it: now.", false),
            ("# A title\n\n> said\n\n+ one\n- two", "A title\nsaid\n* one\n• two", false),
            ("**bold** and `code` – “so”", "bold and code - \"so\"", false),
            ("Heading\n=======\ntext", "Heading\n\ntext", false),
            ("| a | b |", "a b", false),
            ("sailing 17 north", "sailing north", false),
            ("of the 1 and of the 2 and", "of the 3 and of the 4 and", false),
            ("", "", false),
        ] {
            let (one, other) = (Details::of(one), Details::of(other));
            assert_eq!(one.differ(&other), expected, "{one:?} {other:?}");
            assert_eq!(other.differ(&one), expected, "{one:?} {other:?}");
        }
    }
}
