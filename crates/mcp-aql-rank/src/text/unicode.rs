//! Finds words as Unicode defines them.

use unicode_normalization::{UnicodeNormalization as _, is_nfkc};
use unicode_segmentation::UnicodeSegmentation as _;

use super::fold::fold_into;
use super::scan::{Segmentation, Word, scan_with};
use super::segment::scan_segments;

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
