//! Splits a string into words in one pass, without allocating for plain ASCII.
//!
//! Identifiers are reported by their parts and as a whole:
//!
//! ```text
//! get_user HTTPServer  →  get, user, get_user, HTTP, Server, HTTPServer
//! ```

/// The role of a word in the string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// An ordinary word.
    Plain,
    /// A part of an identifier: `get` of `getUserName` or of `get_user_name`.
    Part,
    /// The whole identifier, after its parts. Its key ignores `_`.
    Whole,
    /// Two adjacent characters in a script without spaces, or a single character without a
    /// neighbor.
    Pair,
    /// One character of such pairs, before the pair that it begins.
    Sign,
}

impl WordKind {
    /// Returns `true` if the word may have an ending.
    pub(crate) fn has_stem(self) -> bool {
        matches!(self, Self::Plain | Self::Part | Self::Whole)
    }
}

/// A word of a string.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "texts"), expect(dead_code, reason = "texts compare keys and heads"))]
pub(crate) struct Word<'a> {
    /// The word as written if it is ASCII, and folded otherwise. An identifier keeps its `_`.
    pub(crate) text: &'a str,
    /// Equal words have the same key regardless of case. Different short words have different keys.
    pub(crate) key: u64,
    /// The first two bytes in lower case, the first one in the high byte.
    pub(crate) head: u16,
    pub(crate) kind: WordKind,
}

/// Builds the key of a word, byte by byte.
#[derive(Debug, Clone, Copy, Default)]
struct Key {
    hash: u64,
    gathered: u64,
    length: u32,
    head: u16,
}

impl Key {
    #[inline]
    fn push(&mut self, byte: u8) {
        self.gathered = (self.gathered << 8) | u64::from(byte);
        self.length = self.length.wrapping_add(1);
        if self.length == 2 {
            self.head = self.gathered as u16;
        }
        if self.length & 7 == 0 {
            self.hash = mix(self.hash ^ self.gathered);
            self.gathered = 0;
        }
    }

    #[inline]
    fn finish(self) -> (u64, u16) {
        let head = if self.length == 1 { (self.gathered as u16) << 8 } else { self.head };
        (mix(self.hash.wrapping_add(0x9E37_79B9_7F4A_7C15) ^ self.gathered), head)
    }
}

/// Mixes bits with a bijection. Every output bit depends on the whole input.
#[inline]
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let value = (value ^ (value >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    value ^ (value >> 32)
}

/// Returns the key and the head of a word in lower case.
pub(crate) fn key_of(word: &str) -> (u64, u16) {
    let mut key = Key::default();
    word.bytes().for_each(|byte| key.push(byte));
    key.finish()
}

/// The scanner's class of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Lower,
    Upper,
    Digit,
    Underscore,
    Wide,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::indexing_slicing, reason = "while compiling, and within the array")]
        {
            classes[byte] = match byte as u8 {
                b'a'..=b'z' => Class::Lower,
                b'A'..=b'Z' => Class::Upper,
                b'0'..=b'9' => Class::Digit,
                b'_' => Class::Underscore,
                0x80.. => Class::Wide,
                _ => Class::Other,
            };
        }
        byte += 1;
    }
    classes
};

#[inline]
fn class(byte: u8) -> Class {
    #[expect(clippy::indexing_slicing, reason = "there are 256 of both")]
    CLASSES[usize::from(byte)]
}

/// The rules for words outside of ASCII.
pub(crate) trait Segmentation {
    /// Calls `each` with every word of a string without whitespace.
    fn scan_wide(chunk: &str, each: &mut impl FnMut(Word<'_>));
}

/// Calls `each` with every word of a string, in order.
#[inline]
pub(crate) fn scan_with<S: Segmentation>(text: &str, each: &mut impl FnMut(Word<'_>)) {
    let mut bytes = text.as_bytes().iter().enumerate();
    let mut current = bytes.next();
    while let Some((start, &first)) = current {
        let mut before = class(first);
        if before == Class::Other {
            current = bytes.next();
            continue;
        }
        let mut key = Key::default();
        let (mut wide, mut cut) = (false, false);
        let mut twice_upper = false;
        let mut end = text.len();
        let mut byte = first;
        loop {
            let this = class(byte);
            match this {
                Class::Lower => {
                    cut |= twice_upper;
                    key.push(byte);
                    twice_upper = false;
                }
                Class::Digit => {
                    key.push(byte);
                    twice_upper = false;
                }
                Class::Upper => {
                    cut |= matches!(before, Class::Lower | Class::Digit);
                    twice_upper = before == Class::Upper;
                    key.push(byte | 0x20);
                }
                Class::Underscore => cut = true,
                Class::Wide => wide = true,
                Class::Other => {}
            }
            before = this;
            current = bytes.next();
            match current {
                Some((at, &next)) if class(next) == Class::Other => {
                    end = at;
                    break;
                }
                Some((_, &next)) => byte = next,
                None => break,
            }
        }
        let Some(chunk) = text.get(start..end) else { continue };
        if wide {
            S::scan_wide(chunk, each);
        } else if cut {
            scan_identifier(chunk, each);
        } else {
            let (key, head) = key.finish();
            each(Word { text: chunk, key, head, kind: WordKind::Plain });
        }
    }
}

/// Scans an ASCII identifier and its parts, if it has several.
fn scan_identifier(chunk: &str, each: &mut impl FnMut(Word<'_>)) {
    let chunk = chunk.trim_matches('_');
    let emit = |text: &str, kind: WordKind, each: &mut dyn FnMut(Word<'_>)| {
        let mut key = Key::default();
        for byte in text.bytes().filter(|byte| *byte != b'_') {
            key.push(byte.to_ascii_lowercase());
        }
        let (key, head) = key.finish();
        each(Word { text, key, head, kind });
    };
    let mut start = 0;
    while let Some(rest) = chunk.get(start..).filter(|rest| !rest.is_empty()) {
        let length = part_length(rest.as_bytes());
        if let Some(part) = rest.get(..length) {
            if part.len() == chunk.len() {
                emit(chunk, WordKind::Plain, each);
                return;
            }
            if !part.is_empty() {
                emit(part, WordKind::Part, each);
            }
        }
        start += length;
        start += rest.bytes().skip(length).take_while(|byte| *byte == b'_').count();
    }
    if !chunk.is_empty() {
        emit(chunk, WordKind::Whole, each);
    }
}

/// Returns the length of the first part of an identifier. It ends before `_`, before a capital
/// after a small letter or a digit, or before the last of several capitals if that begins a word.
/// `HTTP` is the first part of `HTTPServer`, while `APIs` is one part.
fn part_length(bytes: &[u8]) -> usize {
    let classes = || bytes.iter().map(|byte| class(*byte));
    let following = classes().skip(1).chain([Class::Underscore]);
    let after = classes().skip(2).chain([Class::Underscore; 2]);
    let mut steps = classes().zip(following).zip(after).enumerate();
    let ends = steps.find(|(_, ((this, next), after))| match (this, next) {
        (_, Class::Underscore) => true,
        (Class::Lower | Class::Digit, Class::Upper) => true,
        (Class::Upper, Class::Upper) => *after == Class::Lower,
        _ => false,
    });
    let Some((last, ((this, next), _))) = ends else { return bytes.len() };
    let plural = this == Class::Upper
        && next == Class::Upper
        && bytes.get(last + 2) == Some(&b's')
        && bytes.get(last + 3).is_none_or(|byte| class(*byte) == Class::Underscore);
    if plural { last + 3 } else { last + 1 }
}
