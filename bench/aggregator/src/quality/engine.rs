//! Simulates the search engines of servers, and a central engine with an index of all documents.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use frostem::{Algorithm, Stemmer};

/// The stop words of Lucene's English analyzer.
const STOP_WORDS: &str = "a an and are as at be but by for if in into is it no not of on or such that \
                          the their then there these they this to was will with";

/// The words of a document or query: the number of each word with its count.
#[derive(Debug, Default)]
pub struct Bag {
    counts: Vec<(u32, f64)>,
    length: f64,
}

/// The vocabulary of all documents. It numbers the words.
pub struct Words {
    numbers: HashMap<String, u32>,
    stemmer: Stemmer,
}

impl Default for Words {
    fn default() -> Self {
        Self { numbers: HashMap::new(), stemmer: Stemmer::new(Algorithm::English) }
    }
}

impl Words {
    /// Tokenizes a string into words of letters and digits. Words are in lower case and stemmed, and
    /// stop words are removed.
    pub fn bag(&mut self, text: &str) -> Bag {
        let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
        let mut length = 0.0;
        let lower = text.to_lowercase();
        for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            if STOP_WORDS.split(' ').any(|stop| stop == word) {
                continue;
            }
            let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
            let stem = self.stemmer.stem(word).into_owned();
            *counts.entry(*self.numbers.entry(stem).or_insert(next)).or_default() += 1.0;
            length += 1.0;
        }
        Bag { counts: counts.into_iter().collect(), length }
    }
}

impl Bag {
    fn count(&self, word: u32) -> f64 {
        let place = self.counts.binary_search_by_key(&word, |(word, _)| *word).ok();
        place.and_then(|place| self.counts.get(place)).map_or(0.0, |(_, count)| *count)
    }
}

/// A server's ranking function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// BM25 with the textbook parameters: k1 1.2, b 0.75.
    Bm25,
    /// The cosine similarity of tf-idf vectors.
    TfIdf,
    /// The number of occurrences of the query's words.
    Count,
    /// Any document with a query word, in no particular order.
    Unranked,
}

/// The index of a server, or of all documents.
#[derive(Debug)]
pub struct Index<'a> {
    /// The indexed documents: the index in the collection, and the words.
    documents: Vec<(usize, &'a Bag)>,
    having: HashMap<u32, f64>,
    average: f64,
}

impl<'a> Index<'a> {
    /// Builds an index of the documents with the indices `places`.
    pub fn new(bags: &'a [Bag], places: impl IntoIterator<Item = usize>) -> Self {
        let documents: Vec<_> =
            places.into_iter().filter_map(|place| Some((place, bags.get(place)?))).collect();
        let mut having: HashMap<u32, f64> = HashMap::new();
        for (_, bag) in &documents {
            for (word, _) in &bag.counts {
                *having.entry(*word).or_default() += 1.0;
            }
        }
        let total: f64 = documents.iter().map(|(_, bag)| bag.length).sum();
        Self { average: total / documents.len().max(1) as f64, documents, having }
    }

    /// Returns the indices of the best documents for a query.
    pub fn search(&self, engine: Engine, query: &Bag, most: usize) -> Vec<usize> {
        let mut found: Vec<(f64, usize)> = self
            .documents
            .iter()
            .map(|(place, bag)| (self.score(engine, query, bag), *place))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        found.sort_by(|one, other| match other.0.total_cmp(&one.0) {
            Ordering::Equal => one.1.cmp(&other.1),
            order => order,
        });
        found.into_iter().map(|(_, place)| place).take(most).collect()
    }

    /// Returns the position in `among` of the document most similar to `document`.
    pub fn nearest(&self, document: usize, among: &[usize]) -> usize {
        let bag = |place: usize| self.documents.get(place).map(|(_, bag)| *bag);
        let Some(query) = bag(document) else { return 0 };
        let scores = among
            .iter()
            .map(|place| bag(*place).map_or(0.0, |bag| self.score(Engine::TfIdf, query, bag)));
        scores.enumerate().max_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(at, _)| at)
    }

    fn score(&self, engine: Engine, query: &Bag, bag: &Bag) -> f64 {
        let all = self.documents.len() as f64;
        let having = |word: u32| self.having.get(&word).copied().unwrap_or_default();
        let shared = query.counts.iter().map(|(word, times)| (*word, *times, bag.count(*word)));
        let shared = shared.filter(|(_, _, count)| *count > 0.0);
        match engine {
            Engine::Bm25 => shared
                .map(|(word, times, count)| {
                    let idf = (1.0 + (all - having(word) + 0.5) / (having(word) + 0.5)).ln();
                    let held = 1.2 * (0.25 + 0.75 * bag.length / self.average);
                    times * idf * count * 2.2 / (count + held)
                })
                .sum(),
            Engine::TfIdf => {
                let weight =
                    |word, count: f64| (1.0 + count.ln()) * (1.0 + all / having(word)).ln();
                let norm: f64 =
                    bag.counts.iter().map(|(word, count)| weight(*word, *count).powi(2)).sum();
                let sum: f64 = shared
                    .map(|(word, times, count)| weight(word, times) * weight(word, count))
                    .sum();
                sum / norm.sqrt().max(1e-9)
            }
            Engine::Count => shared.map(|(_, _, count)| count).sum(),
            Engine::Unranked => f64::from(u8::from(shared.count() > 0)),
        }
    }
}
