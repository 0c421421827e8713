//! Parses a question into concepts and clauses.
//!
//! Words of the question are matched with stems of the vocabulary, in addition to their synonyms:
//!
//! ```text
//! Find the bill, then send it  →  clauses [find bill] [send]
//! ```

use std::collections::HashMap;

use crate::text::{Stemmer, Word, WordKind, is_asking_word, scan_simply};

use super::clauses::{Clauses, begins_clause, ends_clause};
use super::fields::{beginning, stem_of};
use super::literals::{Format, Literal, literal};
use super::synonyms::{is_producing_verb, related};
use super::vocabulary::{TermId, Vocabulary};

/// Maximum length of a question in bytes. The rest is ignored.
const MAX_QUESTION_BYTES: usize = 4_096;
/// Maximum number of distinct concepts of a question.
const MAX_CONCEPTS: usize = 128;

/// Weight of a word that only phrases a question.
const ASKING: f64 = 0.4;
/// Weight of a number.
const NUMBER: f64 = 0.5;
/// Number words that are their own stems.
const NUMBERS: [&str; 9] = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
/// Weight of the words within a path or an address.
const IN_LITERAL: f64 = 0.3;
/// Weight of `file` or `url` for a path or an address.
const LITERAL: f64 = 0.5;
/// Weight of `directory` for a path that may be one.
const DIRECTORY: f64 = 0.3;
/// Weight of a file's format.
const FORMAT: f64 = 0.7;
/// Weight that each repetition of a word adds.
const REPETITION: f64 = 0.2;

/// Weight of the correction of a misspelled word.
const CORRECTION: f64 = 0.4;

/// The first words of a question that asks for information.
const INTERROGATIVES: [&str; 9] =
    ["what", "which", "who", "whose", "where", "when", "how", "is", "are"];
/// Verbs of operations that return information.
const INFORMING_VERBS: [&str; 2] = ["get", "list"];
/// Weight of these verbs if a question asks for information.
const INFORMING: f64 = 0.5;

/// A word of a question with its alternatives.
#[derive(Debug)]
pub(super) struct QuestionConcept {
    pub(super) weight: f64,
    /// The stems that express the concept, each with a weight of at most 1.0.
    pub(super) alternatives: Vec<(TermId, f64)>,
}

/// A question, in terms of a vocabulary.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub(super) concepts: Vec<QuestionConcept>,
    /// The clauses, as indices of concepts.
    pub(super) clauses: Vec<Vec<usize>>,
    /// If `true`, the question asks for information.
    pub(super) asks: bool,
}

impl Question {
    pub(super) fn of(text: &str, vocabulary: &Vocabulary, stemmer: Stemmer) -> Self {
        let mut reader = Reader {
            vocabulary,
            stemmer,
            concepts: Vec::new(),
            clauses: Clauses::default(),
            by_stem: HashMap::new(),
            produces: false,
        };
        let text = beginning(text, MAX_QUESTION_BYTES);
        for word in text.split_whitespace() {
            reader.read(word);
        }
        let asks = asks_for_information(text);
        if asks {
            for verb in INFORMING_VERBS.map(|verb| stemmer.stem(verb)) {
                if !reader.by_stem.contains_key(&verb) {
                    reader.concept(&verb, INFORMING);
                }
            }
        }
        Self { concepts: reader.concepts, clauses: reader.clauses.finish(), asks }
    }
}

/// Returns `true` if a question begins with a word that asks for information.
fn asks_for_information(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let first = first.trim_matches(|c: char| !c.is_alphanumeric());
    INTERROGATIVES.iter().any(|known| first.eq_ignore_ascii_case(known))
}

/// Returns `true` if a word is a number.
fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
        || NUMBERS.iter().any(|number| word.eq_ignore_ascii_case(number))
}

struct Reader<'v> {
    vocabulary: &'v Vocabulary,
    stemmer: Stemmer,
    concepts: Vec<QuestionConcept>,
    clauses: Clauses,
    by_stem: HashMap<String, usize>,
    /// If `true`, a verb that produces the content of a file came before.
    produces: bool,
}

impl Reader<'_> {
    /// Reads a word without whitespace.
    fn read(&mut self, word: &str) {
        if begins_clause(word) {
            self.clauses.end();
        }
        match literal(word) {
            Some(Literal::File { path, format }) => self.read_file(path, format),
            Some(Literal::Address(address)) => {
                self.words(address, IN_LITERAL);
                self.words("url", LITERAL);
                if !address.contains('/') {
                    self.words("domain", LITERAL);
                }
            }
            None => self.words(word, 1.0),
        }
        if ends_clause(word) {
            self.clauses.end();
        }
    }

    /// Reads the path of a file or, without a format, perhaps that of a directory. A question that
    /// produces something and names a file also asks to write a file of this format, even if it has
    /// no such verb.
    fn read_file(&mut self, path: &str, format: Option<Format>) {
        self.words(path, IN_LITERAL);
        self.words("file", LITERAL);
        match format {
            Some(format) => self.words(format.word, FORMAT),
            None => self.words("directory", DIRECTORY),
        }
        if let Some(format) = format
            && std::mem::take(&mut self.produces)
        {
            let result = if format.is_text { "file" } else { format.word };
            let concepts = ["write", result].map(|word| {
                let stem = self.stemmer.stem(word);
                self.concept(&stem, 1.0)
            });
            self.clauses.add_separately(concepts.into_iter().flatten().collect());
        }
    }

    fn words(&mut self, text: &str, weight: f64) {
        let stemmer = self.stemmer;
        scan_simply(text, &mut |word: Word<'_>| {
            let asks = word.kind == WordKind::Plain && is_asking_word(&word.text.to_lowercase());
            let is_number = is_number(word.text);
            let kind = if asks {
                ASKING
            } else if is_number {
                NUMBER
            } else {
                1.0
            };
            if let Some(stem) = stem_of(word, stemmer) {
                self.add(&stem, weight * kind);
            }
        });
    }

    fn add(&mut self, stem: &str, weight: f64) {
        self.produces |= is_producing_verb(stem);
        if let Some(place) = self.concept(stem, weight) {
            self.clauses.add(place);
        }
    }

    /// Returns the index of the concept with a stem. Adds the concept if it is new.
    fn concept(&mut self, stem: &str, weight: f64) -> Option<usize> {
        if let Some(place) = self.by_stem.get(stem).copied() {
            let concept = self.concepts.get_mut(place)?;
            concept.weight = concept.weight.max(weight) + REPETITION * weight;
            return Some(place);
        }
        if self.concepts.len() >= MAX_CONCEPTS {
            return None;
        }
        let place = self.concepts.len();
        self.by_stem.insert(stem.to_owned(), place);
        self.concepts.push(QuestionConcept { weight, alternatives: self.alternatives(stem) });
        Some(place)
    }

    /// Returns the stems of the vocabulary that express a word. A word that no operation contains
    /// may be misspelled, unless it has synonyms.
    fn alternatives(&self, stem: &str) -> Vec<(TermId, f64)> {
        let own = self.vocabulary.find(stem);
        let related = related(stem);
        let others =
            related.iter().filter_map(|it| Some((self.vocabulary.find(&it.stem)?, it.weight)));
        let is_misspelled = own.is_none() && related.is_empty() && !is_number(stem);
        let corrections = if is_misspelled { self.vocabulary.misspelled(stem) } else { Vec::new() };
        let own = own.map(|term| (term, 1.0)).into_iter();
        own.chain(others).chain(corrections.into_iter().map(|term| (term, CORRECTION))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_or_words_that_are_their_own_stems() {
        let stemmer = Stemmer::english();
        for number in NUMBERS {
            assert_eq!(stemmer.stem(number), number);
        }
        assert!(is_number("2026") && is_number("Three") && !is_number("tree") && !is_number("x2"));
    }

    #[test]
    fn questions_for_information_begin_with_an_interrogative() {
        for (text, asks) in [
            ("Which tasks are late?", true),
            ("\"How much is it?\"", true),
            ("Delete what is late", false),
            ("  ", false),
        ] {
            assert_eq!(asks_for_information(text), asks, "{text}");
        }
    }
}
