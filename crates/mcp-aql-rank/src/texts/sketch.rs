//! Computes sketches. Documents that share much of their wording have similar sketches.

use crate::text::{WordKind, mix};

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
const SHINGLE: usize = 3;
const SLOTS: usize = 64;
/// Number of slots in a band. Documents that agree in a band are compared.
const BAND: usize = 2;

/// The smallest shingle of each of 64 partitions (one-permutation MinHash).
#[derive(Debug, Clone)]
pub(super) struct Sketch {
    slots: [u32; SLOTS],
    /// Number of shingles, including repeated ones.
    pub(super) shingles: u32,
}

/// Builds a sketch word by word.
#[derive(Debug)]
pub(super) struct Sketcher {
    sketch: Sketch,
    window: Window,
}

impl Default for Sketcher {
    fn default() -> Self {
        Self { sketch: Sketch { slots: [u32::MAX; SLOTS], shingles: 0 }, window: Window::default() }
    }
}

/// The last words.
#[derive(Debug, Default)]
pub(super) struct Window {
    earlier: [u64; SHINGLE - 1],
    words: usize,
}

impl Window {
    /// Adds a word and returns the shingle that ends with it.
    #[inline]
    pub(super) fn push(&mut self, word: u64) -> Option<u64> {
        let [first, second] = self.earlier;
        self.earlier = [second, word];
        self.words += 1;
        (self.words >= SHINGLE).then(|| {
            mix(first
                .wrapping_mul(0xA24B_AED4_963E_E407)
                .wrapping_add(second)
                .wrapping_mul(0x9FB2_1C65_1E98_DF25)
                .wrapping_add(word))
        })
    }
}

impl Sketcher {
    #[inline]
    pub(super) fn add(&mut self, word: u64) {
        if let Some(shingle) = self.window.push(word) {
            self.sketch.shingles += 1;
            let slot = (shingle >> 58) as usize;
            if let Some(slot) = self.sketch.slots.get_mut(slot) {
                *slot = (*slot).min(shingle as u32);
            }
        }
    }

    /// Fills empty slots from the next filled one, so that short documents have all slots, too.
    pub(super) fn finish(mut self) -> Sketch {
        if self.sketch.shingles > 0 {
            let slots = self.sketch.slots;
            let mut filled = [u32::MAX; SLOTS];
            let mut borrowed = (0_u32, u32::MAX);
            // The second pass lets the last slots borrow from the first ones.
            let around = slots.iter().zip(&mut filled).rev().map(|(from, to)| (*from, to));
            let mut around: Vec<(u32, &mut u32)> = around.collect();
            for _ in 0..2 {
                for (value, slot) in &mut around {
                    borrowed = if *value == u32::MAX {
                        (borrowed.0.wrapping_add(1), borrowed.1)
                    } else {
                        (0, *value)
                    };
                    **slot = borrowed.1.wrapping_add(borrowed.0.wrapping_mul(0x9E37_79B1));
                }
            }
            self.sketch.slots = filled;
        }
        self.sketch
    }
}

impl Sketch {
    /// Returns the keys of the sketch's bands, always in the same order.
    pub(super) fn bands(&self) -> impl Iterator<Item = u64> {
        let slots = if self.shingles > 0 { self.slots.as_slice() } else { &[] };
        slots
            .chunks_exact(BAND)
            .map(|band| band.iter().fold(0, |key, slot| key << 32 | u64::from(*slot)))
    }
}
