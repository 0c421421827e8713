//! Scores the relevance of each document.

use rustc_hash::FxHashMap;

use super::document::{Document, Match, Pool};
use super::query::{Concept, Term, Terms};

/// Saturation of repeated words (BM25 k1).
const K1: f64 = 2.0;
/// Normalization by length (BM25 b).
const B: f64 = 0.75;
/// Assumed number of documents without a query word outside of the pool. Every document in the pool
/// was found by these words, so within the pool even rare words look frequent.
const UNSEEN: f64 = 200.0;
/// Additional weight of two adjacent query words that are also near each other in a document.
const NEAR: f64 = 0.5;
/// Maximum distance between such words.
const WINDOW: u32 = 5;
/// Weight of the server's own order, if that order is meaningful.
const RANK: f64 = 0.3;
/// Position at which the weight of the order has halved.
const RANK_DEPTH: f64 = 5.0;
/// Trust in an order without evidence.
const PRIOR: f64 = 0.5;
/// Number of results that the prior trust counts as.
const PRIOR_RESULTS: f64 = 3.0;
/// Score of a server's first result without a query word, because the server may have searched by
/// meaning.
const FLOOR: f64 = 0.02;

/// A document with its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScoredDocument {
    pub(super) document: usize,
    pub(super) score: f64,
}

/// Scores every document and returns the best ones first.
pub(super) fn score(terms: &Terms, pool: &Pool<'_>) -> Vec<ScoredDocument> {
    let relevances = relevances(terms, pool);
    let trust = trust(pool, &relevances);
    let mut scored: Vec<ScoredDocument> = Vec::with_capacity(pool.documents.len());
    for (place, (document, relevance)) in pool.documents.iter().zip(relevances).enumerate() {
        let trust = trust.get(&(document.server, document.call)).copied().unwrap_or(PRIOR);
        let standing = standing(document.position);
        let factor = (1.0 + RANK * trust * standing) / (1.0 + RANK);
        let relevance = (relevance * factor).max(FLOOR * standing);
        let score = rounded(weighted(relevance, document.weight));
        scored.push(ScoredDocument { document: place, score });
    }
    scored.sort_by(|one, other| {
        let order = other.score.total_cmp(&one.score);
        order.then_with(|| key(pool, one.document).cmp(&key(pool, other.document)))
    });
    scored
}

/// Returns the key that decides between equal scores.
fn key(pool: &Pool<'_>, document: usize) -> (Option<usize>, usize) {
    (pool.documents.get(document).map(|document| document.position), document)
}

/// Rounds to six digits, so that platform differences in the last bit of a logarithm do not change
/// an order.
fn rounded(score: f64) -> f64 {
    ((score * 1e6).round() / 1e6).clamp(0.0, 0.999_999)
}

/// Multiplies the odds by the weight, so that the score stays below 1 for any weight.
fn weighted(score: f64, weight: f64) -> f64 {
    let odds = score * weight;
    let all = 1.0 - score + odds;
    if all.is_finite() && all > 0.0 { odds / all } else { score }
}

/// Returns the value of a position in a server's order: 1 for the first.
fn standing(position: usize) -> f64 {
    1.0 / (1.0 + position as f64 / RANK_DEPTH)
}

/// Returns how well the order of each call agrees with the relevance of its results, from 0 to 1.
/// Some servers return results in no order.
fn trust(pool: &Pool<'_>, relevances: &[f64]) -> FxHashMap<(usize, usize), f64> {
    let mut calls: FxHashMap<(usize, usize), Agreement> = FxHashMap::default();
    for (document, relevance) in pool.documents.iter().zip(relevances) {
        let call = calls.entry((document.server, document.call)).or_default();
        call.add(standing(document.position), *relevance);
    }
    calls.into_iter().map(|(call, agreement)| (call, agreement.trust())).collect()
}

/// The accumulated correlation of two series of numbers.
#[derive(Debug, Default)]
struct Agreement {
    count: f64,
    sums: (f64, f64),
    squares: (f64, f64),
    product: f64,
}

impl Agreement {
    fn add(&mut self, one: f64, other: f64) {
        self.count += 1.0;
        self.sums = (self.sums.0 + one, self.sums.1 + other);
        self.squares = (self.squares.0 + one * one, self.squares.1 + other * other);
        self.product += one * other;
    }

    /// Returns the correlation from 0 to 1, combined with the prior. The prior is needed because a
    /// single result is no evidence, and two results always correlate fully.
    fn trust(&self) -> f64 {
        let Some(correlation) = self.correlation() else { return PRIOR };
        let known = self.count - 1.0;
        let trust = (known * correlation + PRIOR_RESULTS * PRIOR) / (known + PRIOR_RESULTS);
        trust.max(0.0)
    }

    /// Returns the Pearson correlation, from -1 to 1, if it is defined.
    fn correlation(&self) -> Option<f64> {
        let spread = |sum: f64, square: f64| (square - sum * sum / self.count).max(0.0);
        let both = self.product - self.sums.0 * self.sums.1 / self.count;
        let of = spread(self.sums.0, self.squares.0) * spread(self.sums.1, self.squares.1);
        (of > 1e-12).then(|| (both / of.sqrt()).clamp(-1.0, 1.0))
    }
}

/// Returns the relevance of each document, from 0 to less than 1.
fn relevances(terms: &Terms, pool: &Pool<'_>) -> Vec<f64> {
    let mut counts = Counts::new(terms);
    let idf = idf(&mut counts, terms, pool);
    let total: u64 = pool.documents.iter().map(|document| u64::from(document.length)).sum();
    let average = (total as f64 / pool.documents.len().max(1) as f64).max(1.0);
    let weights: Vec<f64> =
        terms.concepts.iter().map(|concept| concept.weight * at(&idf, concept.whole)).collect();
    let near: Vec<f64> = terms
        .neighbours
        .iter()
        .map(|(one, other)| {
            let weight = |place: &usize| weights.get(*place).copied().unwrap_or_default();
            NEAR * (weight(one) * weight(other)).sqrt()
        })
        .collect();
    let most = weights.iter().sum::<f64>() + near.iter().sum::<f64>();
    let score = |document: &Document<'_>| {
        counts.of(terms, pool.matches(document));
        let held = K1 * (1.0 - B + B * f64::from(document.length) / average);
        let alone = counts.concepts.iter().filter_map(|place| {
            let concept = terms.concepts.get(*place)?;
            Some(weights.get(*place)? * presence(concept, &counts.terms, &idf, held))
        });
        let together = counts.near.iter().filter_map(|place| {
            let count = counts.neighbours.get(*place)?;
            Some(near.get(*place)? * count / (count + held))
        });
        let sum = alone.sum::<f64>() + together.sum::<f64>();
        if most > 0.0 { sum / most } else { 0.0 }
    };
    pool.documents.iter().map(score).collect()
}

/// Returns the inverse document frequency of each word.
fn idf(counts: &mut Counts, terms: &Terms, pool: &Pool<'_>) -> Vec<f64> {
    let mut having = vec![0_u32; terms.count];
    for document in &pool.documents {
        counts.of(terms, pool.matches(document));
        for term in &counts.found {
            if let Some(having) = having.get_mut(usize::from(*term)) {
                *having += 1;
            }
        }
    }
    let all = pool.documents.len() as f64 + UNSEEN;
    let idf = |having: u32| {
        let having = f64::from(having);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    };
    having.into_iter().map(idf).collect()
}

fn at<T: Copy + Default>(values: &[T], term: Term) -> T {
    values.get(usize::from(term)).copied().unwrap_or_default()
}

/// Returns the degree to which a document contains a concept, from 0.0 to less than 1.0.
fn presence(concept: &Concept, counts: &[u32], idf: &[f64], held: f64) -> f64 {
    let of = |term: Term| {
        let count = f64::from(at(counts, term));
        count / (count + held)
    };
    let whole = of(concept.whole);
    if concept.parts.is_empty() {
        return whole;
    }
    let most: f64 = concept.parts.iter().map(|part| at(idf, *part)).sum();
    let parts: f64 = concept.parts.iter().map(|part| at(idf, *part) * of(*part)).sum();
    whole.max(if most > 0.0 { parts / most } else { 0.0 })
}

/// The query words in one document. The buffers are reused, and only touched entries are reset,
/// because a query may have far more words than a document contains.
#[derive(Debug)]
struct Counts {
    /// The count of each word.
    terms: Vec<u32>,
    /// The words that occur, in the order of the query.
    found: Vec<Term>,
    /// The concepts with an occurring word, in the order of the query.
    concepts: Vec<usize>,
    /// Number of times that neighbors occur near each other, weighted by their distance.
    neighbours: Vec<f64>,
    /// The neighbors that occur, in the order of the query.
    near: Vec<usize>,
}

impl Counts {
    fn new(terms: &Terms) -> Self {
        Self {
            terms: vec![0; terms.count],
            found: Vec::new(),
            concepts: Vec::new(),
            neighbours: vec![0.0; terms.neighbours.len()],
            near: Vec::new(),
        }
    }

    fn of(&mut self, terms: &Terms, matches: &[Match]) {
        for term in self.found.drain(..) {
            if let Some(count) = self.terms.get_mut(usize::from(term)) {
                *count = 0;
            }
        }
        for place in self.near.drain(..) {
            if let Some(count) = self.neighbours.get_mut(place) {
                *count = 0.0;
            }
        }
        self.concepts.clear();
        for it in matches {
            if let Some(count) = self.terms.get_mut(usize::from(it.term)) {
                *count += 1;
                if *count == 1 {
                    self.found.push(it.term);
                }
            }
        }
        self.found.sort_unstable();
        for term in &self.found {
            self.concepts.extend(terms.having(*term));
        }
        self.concepts.sort_unstable();
        self.concepts.dedup();
        self.neighbours(terms, matches);
    }

    fn neighbours(&mut self, terms: &Terms, matches: &[Match]) {
        let mut rest = matches;
        while let Some((one, others)) = rest.split_first() {
            let within = others.iter().take_while(|other| other.at - one.at <= WINDOW);
            for other in within.filter(|other| other.at > one.at) {
                let Some(place) = terms.neighbour(one.term, other.term) else { continue };
                if let Some(count) = self.neighbours.get_mut(place) {
                    if *count == 0.0 {
                        self.near.push(place);
                    }
                    *count += 1.0 / f64::from(other.at - one.at);
                }
            }
            rest = others;
        }
        self.near.sort_unstable();
    }
}
