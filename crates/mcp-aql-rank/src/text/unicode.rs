//! Finds words as Unicode defines them, and folds their spellings into one form.

use unicode_normalization::{UnicodeNormalization as _, is_nfkc};
use unicode_segmentation::UnicodeSegmentation as _;

use super::scan::{Segmentation, Word, scan_with};
use super::segment::{is_optional_mark, scan_segments};

/// Calls `each` with every word of a string, in order.
#[inline]
pub(crate) fn scan(text: &str, each: &mut impl FnMut(Word<'_>)) {
    scan_with::<UnicodeWords>(text, each);
}

/// The segmentation of Unicode Standard Annex #29, after compatibility composition.
enum UnicodeWords {}

impl Segmentation for UnicodeWords {
    fn scan_wide(chunk: &str, each: &mut impl FnMut(Word<'_>)) {
        let composed: String;
        let chunk = if is_nfkc(chunk) {
            chunk
        } else {
            composed = chunk.nfkc().collect();
            &composed
        };
        scan_segments(chunk, chunk.unicode_word_indices(), fold_into, each);
    }
}

/// Appends a word in lower case, without compatibility forms and without optional marks.
fn fold_into(word: &str, out: &mut String) {
    let mut base = '\0';
    for c in word.nfkd() {
        if is_optional_mark(base, c) || matches!(c, '\u{200c}' | '\u{200d}') {
            continue;
        }
        for lower in c.to_lowercase() {
            match lower {
                'ß' => out.push_str("ss"),
                'ς' => out.push('σ'),
                // The dotless i of Turkish is spelled with a dot elsewhere.
                'ı' => out.push('i'),
                // The rest of the dot of `İ`.
                '\u{307}' if base == 'i' => {}
                lower => out.push(lower),
            }
        }
        if !('\u{300}'..='\u{36f}').contains(&c) {
            base = c.to_lowercase().next().unwrap_or(c);
        }
    }
}
