//! A deterministic random number generator, so that every run measures the same data.

/// A SplitMix64 generator.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    }

    /// Returns a number from 0 (included) to 1 (excluded).
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns an integer below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.fraction() * bound as f64) as usize).min(bound.saturating_sub(1))
    }

    /// Returns one of the items, or `None` if there are none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        items.get(self.below(items.len())).copied()
    }

    /// Returns an index. Its probability is proportional to its share.
    pub fn weighted(&mut self, shares: &[f64]) -> usize {
        let mut left = self.fraction() * shares.iter().sum::<f64>();
        for (place, share) in shares.iter().enumerate() {
            left -= share;
            if left < 0.0 {
                return place;
            }
        }
        shares.len().saturating_sub(1)
    }
}
