//! The stems of all operations.

use std::collections::BTreeMap;
use std::ops::Bound::{Included, Unbounded};

use super::spelling::is_misspelling;

/// The index of a stem.
pub(super) type TermId = usize;

/// Minimum number of characters of a common beginning for two words to match.
const MIN_BEGINNING: usize = 5;
/// Maximum number of completions of one word.
const MAX_COMPLETIONS: usize = 8;
/// Minimum length in bytes of a word to correct.
const MIN_MISSPELLED_BYTES: usize = 5;
/// Maximum number of corrections of one word.
const MAX_CORRECTIONS: usize = 4;
/// Minimum length of each half of a compound in bytes.
const MIN_HALF_BYTES: usize = 3;
/// Maximum length in bytes for a word to be compared with parts of others.
const MAX_COMPARED_BYTES: usize = 40;

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

    /// Returns stems similar to an unknown word: its completions, and either the halves of a
    /// compound or the longest beginning.
    pub(super) fn similar(&self, stem: &str) -> Vec<TermId> {
        if stem.len() > MAX_COMPARED_BYTES {
            return Vec::new();
        }
        let mut found = self.completions(stem);
        match self.halves(stem) {
            Some(halves) => found.extend(halves),
            None => found.extend(self.longest_beginning(stem)),
        }
        found
    }

    /// Returns the possible corrections of an unknown word of English letters. They begin with the
    /// same letter.
    pub(super) fn misspelled(&self, stem: &str) -> Vec<TermId> {
        let first = stem.get(..1).filter(|_| stem.bytes().all(|byte| byte.is_ascii_lowercase()));
        let lengths = MIN_MISSPELLED_BYTES..=MAX_COMPARED_BYTES;
        let Some(first) = first.filter(|_| lengths.contains(&stem.len())) else {
            return Vec::new();
        };
        let following = self.terms.range::<str, _>((Included(first), Unbounded));
        let others = following.take_while(|(other, _)| other.starts_with(first));
        let correct = others.filter(|(other, _)| is_misspelling(stem.as_bytes(), other.as_bytes()));
        correct.map(|(_, term)| *term).take(MAX_CORRECTIONS).collect()
    }

    fn completions(&self, stem: &str) -> Vec<TermId> {
        if stem.chars().count() < MIN_BEGINNING {
            return Vec::new();
        }
        let following = self.terms.range::<str, _>((Included(stem), Unbounded));
        let longer = following.take_while(|(other, _)| other.starts_with(stem));
        longer.take(MAX_COMPLETIONS).map(|(_, term)| *term).collect()
    }

    fn longest_beginning(&self, stem: &str) -> Option<TermId> {
        let mut ends: Vec<usize> =
            stem.char_indices().skip(MIN_BEGINNING).map(|(at, _)| at).collect();
        ends.reverse();
        ends.into_iter().find_map(|end| self.find(stem.get(..end)?))
    }

    /// Returns the two stems of a compound such as `webpage`.
    fn halves(&self, stem: &str) -> Option<[TermId; 2]> {
        let middle = |at: &usize| *at >= MIN_HALF_BYTES && stem.len() - at >= MIN_HALF_BYTES;
        stem.char_indices().map(|(at, _)| at).filter(middle).find_map(|at| {
            let (one, other) = stem.split_at_checked(at)?;
            // The stem of a compound may lack the last letter of its second half: `timezon`.
            let second = self.find(other).or_else(|| self.find(&format!("{other}e")));
            Some([self.find(one)?, second?])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_words_find_their_parts_and_wholes() {
        let mut vocabulary = Vocabulary::default();
        for stem in ["web", "page", "crypto", "cryptocurr", "kubernet", "time", "zone"] {
            vocabulary.intern(stem);
        }
        for (stem, expected) in [
            ("webpage", &["web", "page"][..]),
            ("timezon", &["time", "zone"]),
            ("crypt", &["crypto", "cryptocurr"]),
            ("kubernetesx", &["kubernet"]),
            ("we", &[]),
            ("", &[]),
        ] {
            let expected: Vec<_> = expected.iter().filter_map(|it| vocabulary.find(it)).collect();
            assert_eq!(vocabulary.similar(stem), expected, "{stem}");
        }
        assert!(vocabulary.similar(&"web".repeat(20)).is_empty());
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
