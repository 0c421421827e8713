//! The occurrences of a word in an operation.

/// Frequency at which a word has half of its maximum score.
const SATURATION: f64 = 2.0;

/// An operation that contains a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) operation: usize,
    /// Number of occurrences, weighted by field and length.
    pub(super) frequency: f64,
}

impl Posting {
    /// Returns the frequency as a value from 0.0 to 1.0. Each further occurrence adds less.
    pub(super) fn saturated(&self) -> f64 {
        self.frequency / (self.frequency + SATURATION)
    }
}
