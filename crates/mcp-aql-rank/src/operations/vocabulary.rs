//! The stems of all operations, and the words that stand for them.

use std::collections::BTreeMap;
use std::ops::Bound::{Included, Unbounded};

/// The index of a stem.
pub(super) type TermId = usize;

/// Minimum length in bytes of a word to correct.
const MIN_MISSPELLED_BYTES: usize = 5;
/// Maximum number of corrections of one word.
const MAX_CORRECTIONS: usize = 4;
/// Maximum length in bytes of a word to correct.
const MAX_MISSPELLED_BYTES: usize = 40;

/// Frequency at which a word has half of its maximum score.
const SATURATION: f64 = 2.0;

/// The stems in alphabetical order, so that searches do not depend on the order of the operations.
#[derive(Debug, Clone, Default)]
pub(super) struct Vocabulary {
    terms: BTreeMap<String, TermId>,
}

impl Vocabulary {
    /// Returns the index of a stem. Adds the stem if it is new.
    pub(super) fn intern(&mut self, stem: &str) -> TermId {
        if let Some(term) = self.find(stem) {
            return term;
        }
        let next = self.terms.len();
        self.terms.insert(stem.to_owned(), next);
        next
    }

    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    pub(super) fn find(&self, stem: &str) -> Option<TermId> {
        self.terms.get(stem).copied()
    }

    /// Returns the possible corrections of an unknown word of English letters. They begin with the
    /// same letter.
    pub(super) fn misspelled(&self, stem: &str) -> Vec<TermId> {
        let first = stem.get(..1).filter(|_| stem.bytes().all(|byte| byte.is_ascii_lowercase()));
        let lengths = MIN_MISSPELLED_BYTES..=MAX_MISSPELLED_BYTES;
        let Some(first) = first.filter(|_| lengths.contains(&stem.len())) else {
            return Vec::new();
        };
        let following = self.terms.range::<str, _>((Included(first), Unbounded));
        let others = following.take_while(|(other, _)| other.starts_with(first));
        let correct = others.filter(|(other, _)| is_misspelling(stem.as_bytes(), other.as_bytes()));
        correct.map(|(_, term)| *term).take(MAX_CORRECTIONS).collect()
    }
}

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

/// Returns `true` if two different words differ in one letter: it is missing or replaced, or two
/// adjacent letters are exchanged.
fn is_misspelling(one: &[u8], other: &[u8]) -> bool {
    match (one, other) {
        ([a, one @ ..], [b, other @ ..]) if a == b => is_misspelling(one, other),
        ([a, b, one @ ..], [c, d, other @ ..]) if (a, b) == (d, c) && one == other => true,
        ([_, rest_of_one @ ..], [_, rest_of_other @ ..]) => {
            rest_of_one == rest_of_other || rest_of_one == other || one == rest_of_other
        }
        ([_], []) | ([], [_]) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_in_one_letter_are_misspellings() {
        for (one, other, expected) in [
            ("broswer", "browser", true),
            ("browsr", "browser", true),
            ("browser", "browserr", true),
            ("bxowser", "browser", true),
            ("a", "", true),
            ("browser", "browser", false),
            ("rbwoser", "browser", false),
            ("browse", "browsing", false),
            ("", "", false),
        ] {
            assert_eq!(is_misspelling(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
            assert_eq!(is_misspelling(other.as_bytes(), one.as_bytes()), expected, "{other} {one}");
        }
    }

    #[test]
    fn misspelled_words_find_the_correct_ones() {
        let mut vocabulary = Vocabulary::default();
        for stem in ["browser", "calcul", "tree", "bowser", "比较计算机"] {
            vocabulary.intern(stem);
        }
        for (stem, expected) in [
            ("broswer", &["browser"][..]),
            ("cacul", &["calcul"]),
            ("brwser", &["bowser", "browser"]),
            ("bro", &[]),
            ("frowser", &[]),
            ("比较计算机器", &[]),
            ("", &[]),
        ] {
            let expected: Vec<_> = expected.iter().filter_map(|it| vocabulary.find(it)).collect();
            assert_eq!(vocabulary.misspelled(stem), expected, "{stem}");
        }
    }
}
