//! Parses a query into terms and finds them in documents.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::text::{Stemmer, Word, WordKind, is_asking_word, is_stop_word, scan};

/// The index of a query word.
pub(super) type Term = u16;

/// Stands for a word outside of the query.
const NONE: Term = Term::MAX;

/// Weight of words that only phrase a question, relative to other words.
const ASKING: f64 = 0.5;

/// A concept of the query: a word, or an identifier together with its parts.
#[derive(Debug)]
pub(super) struct Concept {
    pub(super) whole: Term,
    pub(super) parts: Vec<Term>,
    /// The weight: higher if the query repeats the word, lower if it only phrases a question.
    pub(super) weight: f64,
}

/// The query's words, prepared for finding them in a document.
pub(super) struct Terms {
    pub(super) concepts: Vec<Concept>,
    pub(super) count: usize,
    /// Concepts that follow each other in the query, by index.
    pub(super) neighbours: Vec<(usize, usize)>,
    /// The indices of neighbors by their words, in either order.
    by_words: FxHashMap<(Term, Term), usize>,
    /// For each word, the concepts that it is or belongs to.
    having: Vec<Vec<usize>>,
    stemmer: Stemmer,
    /// Words by their stems.
    stems: HashMap<String, Term>,
    /// Pairs and single characters by their keys.
    exact: FxHashMap<u64, Term>,
    /// The possible first two letters of query words. They rule out most words of a document
    /// cheaply.
    heads: Heads,
}

/// A cache of stemmed words for the documents of one query.
pub(super) type Known = FxHashMap<u64, Term>;

impl Terms {
    pub(super) fn of(query: &str) -> Self {
        let mut all = Builder::new();
        scan(query, &mut |word| all.add(word, false));
        if !all.terms.concepts.is_empty() {
            return all.terms;
        }
        // A query such as `to be or not to be` has only stop words, so these count.
        let mut all = Builder::new();
        scan(query, &mut |word| all.add(word, true));
        all.terms
    }

    /// Returns the concepts that a word belongs to.
    pub(super) fn having(&self, term: Term) -> &[usize] {
        self.having.get(usize::from(term)).map_or(&[], Vec::as_slice)
    }

    /// Returns the index of two words among the neighbors.
    pub(super) fn neighbour(&self, one: Term, other: Term) -> Option<usize> {
        self.by_words.get(&(one, other)).copied()
    }

    /// Returns the query word that a word of a document matches.
    #[inline]
    pub(super) fn find(&self, word: Word<'_>, known: &mut Known) -> Option<Term> {
        if !word.kind.has_stem() {
            return self.exact.get(&word.key).copied();
        }
        if self.heads.has(word.head) { self.find_stem(word, known) } else { None }
    }

    /// Returns the query word with the same stem as a word.
    fn find_stem(&self, word: Word<'_>, known: &mut Known) -> Option<Term> {
        let term = match known.get(&word.key) {
            Some(term) => *term,
            None => {
                let term = self.stems.get(&self.stemmer.stem(word.text)).copied().unwrap_or(NONE);
                known.insert(word.key, term);
                term
            }
        };
        (term != NONE).then_some(term)
    }
}

struct Builder {
    terms: Terms,
    /// The parts of an identifier whose whole has not been read yet.
    parts: Vec<Term>,
    concepts: FxHashMap<Term, usize>,
    /// The previous concept with its word.
    before: Option<(usize, Term)>,
}

impl Builder {
    fn new() -> Self {
        Self {
            terms: Terms {
                concepts: Vec::new(),
                count: 0,
                neighbours: Vec::new(),
                by_words: FxHashMap::default(),
                having: Vec::new(),
                stemmer: Stemmer::english(),
                stems: HashMap::new(),
                exact: FxHashMap::default(),
                heads: Heads::default(),
            },
            parts: Vec::new(),
            concepts: FxHashMap::default(),
            before: None,
        }
    }

    fn add(&mut self, word: Word<'_>, stop_words: bool) {
        if word.kind == WordKind::Sign {
            return;
        }
        let says_nothing = word.kind.has_stem() && is_stop_word(&word.text.to_lowercase());
        if says_nothing && !stop_words {
            return;
        }
        let Some(term) = self.term(word) else { return };
        if word.kind == WordKind::Part {
            self.parts.push(term);
            return;
        }
        let parts =
            if word.kind == WordKind::Whole { std::mem::take(&mut self.parts) } else { Vec::new() };
        let next = self.terms.concepts.len();
        let place = *self.concepts.entry(term).or_insert(next);
        let asks = word.kind == WordKind::Plain && is_asking_word(&word.text.to_lowercase());
        let weight = if asks { ASKING } else { 1.0 };
        match self.terms.concepts.get_mut(place) {
            Some(concept) => concept.weight += weight,
            None => {
                for term in parts.iter().chain([&term]) {
                    if let Some(having) = self.terms.having.get_mut(usize::from(*term)) {
                        having.push(next);
                    }
                }
                self.terms.concepts.push(Concept { whole: term, parts, weight });
            }
        }
        self.follow(place, term);
    }

    /// Records that this concept follows the previous one.
    fn follow(&mut self, place: usize, term: Term) {
        let Some((before, other)) = self.before.replace((place, term)) else { return };
        let next = self.terms.neighbours.len();
        if before != place && self.terms.neighbour(other, term).is_none() {
            self.terms.neighbours.push((before, place));
            self.terms.by_words.insert((other, term), next);
            self.terms.by_words.insert((term, other), next);
        }
    }

    fn term(&mut self, word: Word<'_>) -> Option<Term> {
        let next = Term::try_from(self.terms.count).ok().filter(|term| *term != NONE)?;
        let term = if word.kind.has_stem() {
            let stem = self.terms.stemmer.stem(word.text);
            self.terms.heads.add(&stem);
            *self.terms.stems.entry(stem).or_insert(next)
        } else {
            *self.terms.exact.entry(word.key).or_insert(next)
        };
        if term == next {
            self.terms.count += 1;
            self.terms.having.push(Vec::new());
        }
        Some(term)
    }
}

/// A Bloom filter of the first two letters of words.
#[derive(Debug, Default)]
struct Heads([u64; 16]);

impl Heads {
    /// Adds the beginnings of all words with this stem. These are the stem's first two letters,
    /// because an ending never replaces them. The exceptions are `dying`, `lying` and `tying`:
    /// their stems end in `ie`.
    fn add(&mut self, stem: &str) {
        let mut bytes = stem.bytes();
        let (first, second) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
        match second {
            // The stem has one letter, as `a` from `aing`, so any second letter is possible.
            0 => (0..32).for_each(|any| self.set(first, any)),
            b'i' => {
                self.set(first, b'i');
                self.set(first, b'y');
            }
            _ => self.set(first, second),
        }
    }

    fn place(first: u8, second: u8) -> (usize, u32) {
        (usize::from(first >> 1 & 15), (u32::from(first & 1) << 5) | u32::from(second & 31))
    }

    fn set(&mut self, first: u8, second: u8) {
        let (row, bit) = Self::place(first, second);
        if let Some(row) = self.0.get_mut(row) {
            *row |= 1 << bit;
        }
    }

    #[inline]
    fn has(&self, head: u16) -> bool {
        let [first, second] = head.to_be_bytes();
        let (row, bit) = Self::place(first, second);
        self.0.get(row).is_some_and(|row| row >> bit & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::key_of;

    fn found(query: &str, text: &str) -> Vec<Term> {
        let terms = Terms::of(query);
        let (mut known, mut found) = (Known::default(), Vec::new());
        scan(text, &mut |word| found.extend(terms.find(word, &mut known)));
        found
    }

    #[test]
    fn words_are_found_in_all_their_forms() {
        for (shows, query, text, expected) in [
            ("endings", "connection", "Connected CONNECTING disconnect", &[0, 0][..]),
            ("stop words are left out", "the cat", "the cat", &[0]),
            ("unless there is nothing else", "to be", "to be", &[0, 1]),
            ("possessives", "rocket's", "a rocket", &[0]),
            ("other first letters", "die", "dying", &[0]),
            (
                "of an identifier each part, and all of it",
                "getUserName",
                "get_user_name",
                &[0, 1, 2, 3],
            ),
            ("and in other words", "getUserName", "the user", &[1]),
            ("a name with capitals inside", "github", "GitHub", &[0]),
            ("and without them", "GitHub", "github", &[2]),
            ("acronyms", "HTTPServer APIs", "http api", &[0, 3]),
            ("accents", "café", "Cafe CAFÉS", &[0, 0]),
            ("full width", "python", "Ｐｙｔｈｏｎ", &[0]),
            ("Chinese", "数据库", "我的数据库。", &[0, 1]),
            ("one sign", "水", "水道水", &[0, 0]),
            ("Russian", "ёлка", "Елка ЁЛКА", &[0, 0]),
            ("Greek", "ΟΔΟΣ", "οδός", &[0]),
            ("German", "STRASSE", "Straße", &[0]),
            ("Thai", "ภาษา", "ภาษาไทย", &[0, 1, 2]),
            ("Arabic", "العربية", "العَرَبِيّة", &[0]),
            ("Korean with a particle", "서버", "서버는", &[0]),
            ("digits", "utf8 3", "UTF8 v3.14", &[0]),
        ] {
            assert_eq!(found(query, text), expected, "{shows}");
        }
    }

    #[test]
    fn the_first_two_letters_match_every_ending() {
        let endings =
            ["", "s", "y", "ing", "ed", "ies", "ying", "ly", "e", "es", "ity", "ish", "d"];
        let stemmer = Stemmer::english();
        for first in b'a'..=b'z' {
            for second in b'a'..=b'z' {
                for third in b'a'..=b'z' {
                    for ending in endings {
                        let letters = [first, second, third].map(char::from);
                        for many in 1..=3 {
                            let word: String = letters.iter().take(many).chain(&[]).collect();
                            let word = word + ending;
                            let mut heads = Heads::default();
                            heads.add(&stemmer.stem(&word));
                            assert!(heads.has(key_of(&word).1), "{word}: {}", stemmer.stem(&word));
                        }
                    }
                }
            }
        }
    }
}
