//! How well each text answers the query.

use super::document::{Document, Pool};
use super::query::{Concept, Terms};

/// How much a word that comes again still adds (BM25).
const K1: f64 = 2.0;
/// How much a long text is held back (BM25).
const B: f64 = 0.75;
/// Texts without any word of the query that are thought to be beside the pool. All of the pool was
/// found by these words, so that by the pool alone even rare ones look frequent.
const UNSEEN: f64 = 200.0;
/// How much the server's own order counts.
const RANK: f64 = 0.3;
/// Down to which place it does.
const RANK_DEPTH: f64 = 5.0;

/// A document with its score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    pub(super) document: usize,
    pub(super) score: f64,
}

/// Scores every document; the best come first.
pub(super) fn score(terms: &Terms, pool: &Pool<'_>) -> Vec<Scored> {
    let idf = idf(terms, pool);
    let total: u64 = pool.documents.iter().map(|document| u64::from(document.length)).sum();
    let average = (total as f64 / pool.documents.len().max(1) as f64).max(1.0);
    let weights: Vec<f64> = terms.concepts.iter().map(|concept| weight(concept, &idf)).collect();
    let most: f64 = weights.iter().sum();
    let mut counts = vec![0_u32; terms.count];
    let mut scored: Vec<Scored> = Vec::with_capacity(pool.documents.len());
    for (place, document) in pool.documents.iter().enumerate() {
        count(&mut counts, pool, document);
        let length = K1 * (1.0 - B + B * f64::from(document.length) / average);
        let sum: f64 = terms
            .concepts
            .iter()
            .zip(&weights)
            .map(|(concept, weight)| weight * presence(concept, &counts, &idf, length))
            .sum();
        let relevance = if most > 0.0 { sum / most } else { 0.0 };
        let factor = (1.0 + RANK / (1.0 + document.position as f64 / RANK_DEPTH)) / (1.0 + RANK);
        let score = rounded(weighted(relevance * factor, document.weight));
        scored.push(Scored { document: place, score });
    }
    scored.sort_by(|one, other| {
        let order = other.score.total_cmp(&one.score);
        order.then_with(|| key(pool, one.document).cmp(&key(pool, other.document)))
    });
    scored
}

/// What decides between equal scores.
fn key(pool: &Pool<'_>, document: usize) -> (Option<usize>, usize) {
    (pool.documents.get(document).map(|document| document.position), document)
}

/// To six digits, so that no platform's last bit of a logarithm changes an order.
fn rounded(score: f64) -> f64 {
    ((score * 1e6).round() / 1e6).clamp(0.0, 0.999_999)
}

/// The weight multiplies the odds, so that a score stays below 1 whatever the weight.
fn weighted(score: f64, weight: f64) -> f64 {
    let odds = score * weight;
    let all = 1.0 - score + odds;
    if all.is_finite() && all > 0.0 { odds / all } else { score }
}

/// How often the document has each word of the query.
fn count(counts: &mut [u32], pool: &Pool<'_>, document: &Document<'_>) {
    counts.fill(0);
    for found in pool.matches(document) {
        if let Some(count) = counts.get_mut(usize::from(found.term)) {
            *count += 1;
        }
    }
}

/// How much each word tells, by the number of documents that have it.
fn idf(terms: &Terms, pool: &Pool<'_>) -> Vec<f64> {
    let mut having = vec![0_u32; terms.count];
    let mut counts = vec![0_u32; terms.count];
    for document in &pool.documents {
        count(&mut counts, pool, document);
        for (having, count) in having.iter_mut().zip(&counts) {
            *having += u32::from(*count > 0);
        }
    }
    let all = pool.documents.len() as f64 + UNSEEN;
    having
        .iter()
        .map(|having| {
            let having = f64::from(*having);
            (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
        })
        .collect()
}

fn weight(concept: &Concept, idf: &[f64]) -> f64 {
    at(idf, concept.whole)
}

fn at(values: &[f64], term: super::query::Term) -> f64 {
    values.get(usize::from(term)).copied().unwrap_or_default()
}

/// How much of a concept a document has: 0.0 to less than 1.0.
fn presence(concept: &Concept, counts: &[u32], idf: &[f64], length: f64) -> f64 {
    let of = |term: super::query::Term| {
        let count = f64::from(counts.get(usize::from(term)).copied().unwrap_or_default());
        count / (count + length)
    };
    let whole = of(concept.whole);
    if concept.parts.is_empty() {
        return whole;
    }
    let most: f64 = concept.parts.iter().map(|part| at(idf, *part)).sum();
    let parts: f64 = concept.parts.iter().map(|part| at(idf, *part) * of(*part)).sum();
    whole.max(if most > 0.0 { parts / most } else { 0.0 })
}
