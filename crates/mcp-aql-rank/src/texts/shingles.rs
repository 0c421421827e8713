//! Splits documents into shingles: hashes of three consecutive words. Documents that share much of
//! their wording share many shingles.

use crate::text::{Word, WordKind, mix, scan};

impl WordKind {
    /// Returns `true` if the word counts towards the length of the document. Each character counts
    /// about once.
    pub(crate) fn has_length(self) -> bool {
        matches!(self, Self::Plain | Self::Part | Self::Pair)
    }

    /// Returns `true` if the word is compared to find duplicates.
    pub(crate) fn identifies_copies(self) -> bool {
        matches!(self, Self::Plain | Self::Whole | Self::Pair)
    }
}

/// Number of words in a shingle.
const SHINGLE_WORDS: usize = 3;
/// Number of shingles in a sketch.
const SKETCH_SHINGLES: usize = 24;

/// Collects the shingles of a document word by word. Reuse it for several documents.
#[derive(Debug, Default)]
pub(super) struct Shingles {
    earlier: [u64; SHINGLE_WORDS - 1],
    words: usize,
    found: Vec<u64>,
}

impl Shingles {
    /// Returns the distinct shingles of a document, sorted.
    pub(super) fn of(text: &str) -> Vec<u64> {
        let mut shingles = Self::default();
        scan(text, &mut |word: Word<'_>| {
            if word.kind.identifies_copies() {
                shingles.add(word.key);
            }
        });
        shingles.found.sort_unstable();
        shingles.found.dedup();
        shingles.found
    }

    /// Adds the next word.
    #[inline]
    pub(super) fn add(&mut self, word: u64) {
        let [first, second] = self.earlier;
        self.earlier = [second, word];
        self.words += 1;
        if self.words >= SHINGLE_WORDS {
            self.found.push(mix(first
                .wrapping_mul(0xA24B_AED4_963E_E407)
                .wrapping_add(second)
                .wrapping_mul(0x9FB2_1C65_1E98_DF25)
                .wrapping_add(word)));
        }
    }

    /// Returns the smallest shingles (bottom-k MinHash), and starts a new document. If a document
    /// contains another one, both sketches still have shingles in common.
    pub(super) fn take_sketch(&mut self) -> Vec<u64> {
        self.words = 0;
        let last = SKETCH_SHINGLES.min(self.found.len()).saturating_sub(1);
        let mut sketch = Vec::new();
        if !self.found.is_empty() {
            let (smaller, last, _) = self.found.select_nth_unstable(last);
            sketch.extend_from_slice(smaller);
            sketch.push(*last);
        }
        self.found.clear();
        sketch.sort_unstable();
        sketch.dedup();
        sketch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sketches_are_the_smallest_shingles() {
        let words: Vec<String> = (0..100).map(|number| format!("w{number}")).collect();
        let mut shingles = Shingles::default();
        for length in [0, 2, 3, 10, 100] {
            let text = words.get(..length).unwrap_or_default().join(" ");
            scan(&text, &mut |word| shingles.add(word.key));
            let all = Shingles::of(&text);
            assert_eq!(all.len(), length.saturating_sub(2));
            assert_eq!(shingles.take_sketch(), all.get(..SKETCH_SHINGLES).unwrap_or(&all));
        }
    }
}
