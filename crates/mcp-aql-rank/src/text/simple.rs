//! Finds words by the properties of single characters, without Unicode's tables for segmentation
//! and normalization.

use super::scan::{Segmentation, Word, scan_with};
use super::segment::{has_no_spaces, is_optional_mark, scan_segments};

/// Calls `each` with every word of a string, in order.
pub(crate) fn scan_simply(text: &str, each: &mut impl FnMut(Word<'_>)) {
    scan_with::<SimpleWords>(text, each);
}

/// Words are runs of letters, digits and marks.
enum SimpleWords {}

impl Segmentation for SimpleWords {
    fn scan_wide(chunk: &str, each: &mut impl FnMut(Word<'_>)) {
        scan_segments(chunk, Segments { chunk, at: 0 }, fold_simply_into, each);
    }
}

/// The kind of the characters in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentKind {
    Letters,
    WithoutSpaces,
    Between,
}

fn kind_of(c: char) -> SegmentKind {
    if has_no_spaces(c) {
        SegmentKind::WithoutSpaces
    } else if c.is_alphanumeric() || is_mark(c) {
        SegmentKind::Letters
    } else {
        SegmentKind::Between
    }
}

/// Returns `true` if a character belongs to the letter before it although it is not alphanumeric.
/// These are combining accents, the vowel points of Hebrew and Arabic, and joiners.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x300..=0x36F | 0x591..=0x5C7 | 0x64B..=0x655 | 0x94D | 0x9CD | 0x200C | 0x200D)
}

/// The words of a string, each with its start.
struct Segments<'t> {
    chunk: &'t str,
    at: usize,
}

impl<'t> Iterator for Segments<'t> {
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = self.at;
            let rest = self.chunk.get(start..)?;
            let kind = kind_of(rest.chars().next()?);
            let length = rest.find(|c| kind_of(c) != kind).unwrap_or(rest.len());
            self.at = start + length;
            if kind != SegmentKind::Between {
                return Some((start, rest.get(..length)?));
            }
        }
    }
}

/// The letters U+00E0 to U+00FF without accents. Letters without an accent stay as they are.
const BASE_LETTERS: &str = "aaaaaaæceeeeiiiiðnooooo÷øuuuuyþy";

/// Appends a word in lower case, without optional marks, and without the accents of the most
/// frequent Latin letters.
fn fold_simply_into(word: &str, out: &mut String) {
    let mut base = '\0';
    for c in word.chars().flat_map(char::to_lowercase) {
        if is_optional_mark(base, c) || matches!(c, '\u{200c}' | '\u{200d}') {
            continue;
        }
        base = c;
        match c {
            'ß' => out.push_str("ss"),
            'ς' => out.push('σ'),
            'ı' => out.push('i'),
            'ё' => out.push('е'),
            '\u{e0}'..='\u{ff}' => {
                let place = u32::from(c) as usize - 0xE0;
                out.push(BASE_LETTERS.chars().nth(place).unwrap_or(c));
            }
            // Full-width forms.
            '\u{ff01}'..='\u{ff5e}' => {
                out.push(char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::WordKind;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        scan_simply(text, &mut |word| {
            if word.kind != WordKind::Sign {
                words.push(word.text.to_owned());
            }
        });
        words
    }

    #[test]
    fn words_are_split_and_folded_without_tables() {
        for (shows, text, expected) in [
            ("accents", "café cafe\u{301} CAFÉ", &["cafe", "cafe", "cafe"][..]),
            ("other letters", "Straße ΟΔΟΣ Ёлка œuvre", &["strasse", "οδοσ", "елка", "œuvre"]),
            ("punctuation", "«größe», naïve—", &["grosse", "naive"]),
            ("camelCase", "getÜbersicht", &["get", "ubersicht", "getubersicht"]),
            (
                "a script without spaces",
                "查询GitHub仓库",
                &["查询", "git", "hub", "github", "仓库"],
            ),
            ("full width", "Ｐｙｔｈｏｎ", &["python"]),
            ("Thai with its marks", "ที่", &["ท\u{e35}", "\u{e35}\u{e48}"]),
            ("ASCII beside it", "plain_text", &["plain", "text", "plain_text"]),
            ("no words", "…—‽", &[]),
        ] {
            assert_eq!(words(text), expected, "{shows}");
        }
    }
}
