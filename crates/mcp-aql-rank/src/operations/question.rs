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
use super::fields::{beginning, each_stem, verb_of_agent};
use super::literals::{Format, Literal, literal};
use super::question_form::{asks_for_information, implied_nouns};
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

/// Weight of the verb behind a noun such as `reader`.
const AGENT: f64 = 0.4;
/// Weight of a word similar to one that no operation contains.
const SIMILAR: f64 = 0.4;
/// Weight of two words that are one word in an operation: `web page` for `webpage`.
const JOINED: f64 = 0.8;

/// Weight of a word that a question implies.
const IMPLIED: f64 = 0.5;
/// Verbs of operations that return information.
const INFORMING_VERBS: [&str; 2] = ["get", "list"];

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
            before: None,
            produces: false,
        };
        let text = beginning(text, MAX_QUESTION_BYTES);
        for word in text.split_whitespace() {
            reader.read(word);
        }
        let asks = asks_for_information(text);
        reader.read_form(text, asks);
        Self { concepts: reader.concepts, clauses: reader.clauses.finish(), asks }
    }
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
    /// The previous concept with its stem.
    before: Option<(usize, String)>,
    /// If `true`, a verb that produces the content of a file came before.
    produces: bool,
}

impl Reader<'_> {
    /// Reads a word without whitespace.
    fn read(&mut self, word: &str) {
        if begins_clause(word) {
            self.end_clause();
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
            self.end_clause();
        }
    }

    /// Adds the words that the form of a question implies.
    fn read_form(&mut self, text: &str, asks: bool) {
        let verbs = INFORMING_VERBS.iter().filter(|_| asks).copied();
        for word in verbs.chain(implied_nouns(text)) {
            let stem = self.stemmer.stem(word);
            if !self.by_stem.contains_key(&stem) {
                self.concept(&stem, IMPLIED);
            }
        }
    }

    fn end_clause(&mut self) {
        self.clauses.end();
        self.before = None;
    }

    /// Reads the path of a file or, without a format, perhaps that of a directory. A question that
    /// produces something and names a file also asks to write a file of this format, even if it has
    /// no such verb.
    fn read_file(&mut self, path: &str, format: Option<Format>) {
        self.before = None;
        self.words(path, IN_LITERAL);
        self.words("file", LITERAL);
        match format {
            Some(format) => self.words(format.word, FORMAT),
            None => self.words("directory", DIRECTORY),
        }
        self.before = None;
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
            each_stem(word, stemmer, &mut |stem| self.add(stem, weight * kind));
        });
    }

    fn add(&mut self, stem: String, weight: f64) {
        self.produces |= is_producing_verb(&stem);
        let Some(place) = self.concept(&stem, weight) else { return };
        self.clauses.add(place);
        self.follow(place, stem);
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

    fn alternatives(&self, stem: &str) -> Vec<(TermId, f64)> {
        let vocabulary = self.vocabulary;
        let own = vocabulary.find(stem);
        let mut found: Vec<(TermId, f64)> = own.map(|term| (term, 1.0)).into_iter().collect();
        let agent = verb_of_agent(stem, self.stemmer);
        let others = related(stem).iter().map(|other| (other.stem.as_str(), other.weight));
        let others = others.chain(agent.as_deref().map(|verb| (verb, AGENT)));
        let others = others.filter_map(|(other, weight)| Some((vocabulary.find(other)?, weight)));
        let similar = if own.is_none() { self.similar(stem) } else { Vec::new() };
        for (term, weight) in others.chain(similar.into_iter().map(|term| (term, SIMILAR))) {
            if !found.iter().any(|(known, _)| *known == term) {
                found.push((term, weight));
            }
        }
        found
    }

    /// Returns stems similar to an unknown word. A word with synonyms is not misspelled.
    fn similar(&self, stem: &str) -> Vec<TermId> {
        let similar = self.vocabulary.similar(stem);
        let is_known = !similar.is_empty() || !related(stem).is_empty() || is_number(stem);
        if is_known { similar } else { self.vocabulary.misspelled(stem) }
    }

    /// Records that a concept follows the previous one, because operations may write both as one
    /// word.
    fn follow(&mut self, place: usize, stem: String) {
        let Some((before, other)) = self.before.replace((place, stem.clone())) else { return };
        let joined = self.stemmer.stem(&format!("{other}{stem}"));
        let Some(joined) = self.vocabulary.find(&joined) else { return };
        for place in [before, place] {
            if let Some(concept) = self.concepts.get_mut(place)
                && !concept.alternatives.iter().any(|(known, _)| *known == joined)
            {
                concept.alternatives.push((joined, JOINED));
            }
        }
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
}
