//! Ranks the results of many servers by their content, and merges duplicates.
//!
//! A query is scored against the given results only. There is no index and no state between calls.
//!
//! ```
//! use mcp_aql_rank::texts::{Candidate, RankOptions, rank};
//!
//! let texts = ["Cats sleep all day.", "Ships sail by night.", "**CATS** sleep all day."];
//! let candidates: Vec<_> = texts
//!     .iter()
//!     .enumerate()
//!     .map(|(server, content)| Candidate { server, call: 0, position: 0, content })
//!     .collect();
//! let ranked = rank("sleeping cats", &candidates, &RankOptions::default());
//! assert_eq!(ranked.hits[0].candidate, 0);
//! assert_eq!(ranked.hits[0].also, [2]);
//! assert_eq!(ranked.distinct, 2);
//! ```

mod choose;
mod copies;
mod differences;
mod document;
mod query;
mod score;
mod shingles;

pub use crate::text::{clean, content_words};

use document::Pool;
use query::Terms;

/// A result of a server.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Index of the server in your configuration.
    pub server: usize,
    /// Index of the call to this server.
    pub call: usize,
    /// Position in the server's results, from 0.
    pub position: usize,
    /// The content to rank.
    pub content: &'a str,
}

/// Options of a ranking.
///
/// ```
/// use mcp_aql_rank::texts::RankOptions;
///
/// let options = RankOptions::default().max_results(10).weights(vec![1.0, 2.0]).max_per_server(3);
/// assert_eq!(options.max_results, 10);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RankOptions {
    /// Maximum number of hits. The default is 30.
    pub max_results: usize,
    /// The weight of each server's results: 2.0 doubles the odds of each result. A server without a
    /// valid weight has 1.0; a valid weight is a number of at least 0.
    ///
    /// Raise the weight of a server that searches by meaning. Its results may lack the words of
    /// your query, and then score near zero.
    pub weights: Vec<f64>,
    /// Maximum number of hits from one server. By default the number is not limited, because a
    /// limit costs relevance. A result of several servers counts for one that may have another hit.
    pub max_per_server: Option<usize>,
    /// Weight of relevance against diversity, from 0.0 to 1.0 (maximal marginal relevance). Set it
    /// only if you prefer variety over relevance: the hits are then not ordered by score. If it is
    /// `None`, only relevance counts.
    ///
    /// The number of results compared is four times the number of hits, and at most 400. The
    /// remaining results follow in the order of their scores.
    pub mmr: Option<f64>,
}

impl Default for RankOptions {
    fn default() -> Self {
        Self { max_results: 30, weights: Vec::new(), max_per_server: None, mmr: None }
    }
}

impl RankOptions {
    /// Sets [`max_results`](Self::max_results).
    #[must_use]
    pub fn max_results(mut self, most: usize) -> Self {
        self.max_results = most;
        self
    }

    /// Sets [`weights`](Self::weights).
    #[must_use]
    pub fn weights(mut self, weights: Vec<f64>) -> Self {
        self.weights = weights;
        self
    }

    /// Sets [`max_per_server`](Self::max_per_server).
    #[must_use]
    pub fn max_per_server(mut self, most: usize) -> Self {
        self.max_per_server = Some(most);
        self
    }

    /// Sets [`mmr`](Self::mmr).
    #[must_use]
    pub fn mmr(mut self, relevance: f64) -> Self {
        self.mmr = Some(relevance);
        self
    }

    fn weight(&self, server: usize) -> f64 {
        let weight = self.weights.get(server).copied().unwrap_or(1.0);
        if weight.is_finite() && weight >= 0.0 { weight } else { 1.0 }
    }
}

/// The ranked results.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Ranked {
    /// The hits, the best first.
    pub hits: Vec<RankedHit>,
    /// Number of distinct candidates, including those not among the hits.
    pub distinct: usize,
}

/// A hit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RankedHit {
    /// Index of the candidate.
    pub candidate: usize,
    /// Relevance of the best of the hit's duplicates: at least 0 and less than 1.
    ///
    /// The score grows with the share of the query that the content contains, weighing rare words
    /// more, and with the number of occurrences. Content with every word once scores about 0.3. You
    /// can therefore roughly compare scores of different queries: a weak answer has a low score
    /// even if there is no better one. The comparison is only rough, because the rarity of words,
    /// the lengths and the trust in a server's order depend on all candidates.
    pub score: f64,
    /// Indices of the hit's duplicates.
    pub also: Vec<usize>,
}

/// Ranks candidates by their relevance to the query, and merges duplicates.
///
/// The result does not depend on the order of the candidates. Large inputs are read on several
/// threads, and the call blocks until they finish. In async code, call it on a blocking thread.
///
/// A result without any word of the query has almost no score. If other results have one, it is a
/// hit only if it was among the first three of its call. A server that searches by meaning has its
/// best results there.
pub fn rank(query: &str, candidates: &[Candidate<'_>], options: &RankOptions) -> Ranked {
    let terms = Terms::of(query);
    let pool = Pool::read(&terms, candidates, options);
    let scored = score::score(&terms, &pool);
    let groups = copies::join(&terms, &pool, scored);
    let distinct = groups.len();
    let hits = choose::choose(&pool, groups, options);
    Ranked { hits, distinct }
}

#[cfg(test)]
mod tests;
