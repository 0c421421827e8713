//! Ranks the results of many servers by their content and joins those that say the same.
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

mod alike;
mod choose;
mod copies;
mod details;
mod document;
mod query;
mod score;
mod sketch;
#[cfg(test)]
mod tests;
mod threads;

pub use crate::text::{clean, content_words};

use document::Pool;
use query::Terms;

/// A result of a server.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The index of the server in the configuration.
    pub server: usize,
    /// The index of the call to this server.
    pub call: usize,
    /// The position in the server's results, from 0.
    pub position: usize,
    /// The text.
    pub content: &'a str,
}

/// Options of a ranking.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RankOptions {
    /// The maximum number of hits; 30 by default.
    pub max_results: usize,
    /// The weight of each server's results: 2.0 doubles the odds of each result. A server without a
    /// weight, or with one that is not a number of at least 0, has 1.0.
    pub weights: Vec<f64>,
    /// The maximum number of hits from one server. There is no limit by default, because a limit
    /// costs relevance. A result that several servers returned counts for one that may have another
    /// hit.
    pub max_per_server: Option<usize>,
    /// The weight of relevance against diversity, from 0.0 to 1.0 (maximal marginal relevance).
    /// Without it, only relevance counts. With it, hits are not ordered by score.
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
    /// The number of distinct candidates, whether they are among the hits or not.
    pub distinct: usize,
}

/// A hit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RankedHit {
    /// The index of the candidate.
    pub candidate: usize,
    /// The relevance of the best of the hit's copies: at least 0 and less than 1.
    ///
    /// The score grows with the share of the query that the text contains, weighing rare words
    /// more, and with the number of occurrences. A text that contains every word once scores about
    /// 0.3. Scores of different queries are therefore roughly comparable: a weak answer has a low
    /// score even if there is no better one. The comparison is only rough, because the rarity of
    /// words, the lengths of texts and the trust in a server's order depend on all candidates.
    pub score: f64,
    /// The indices of candidates that say the same.
    pub also: Vec<usize>,
}

/// Ranks candidates by their relevance to the query and joins those that say the same.
///
/// The result does not depend on the order of the candidates. Large inputs are read on several
/// threads, and the call blocks until they finish. In async code, call it on a blocking thread.
///
/// A text without any word of the query has almost no score. If other texts have one, it is a hit
/// only if it was among the first three of its call, because a server that searches by meaning has
/// its best results there.
pub fn rank(query: &str, candidates: &[Candidate<'_>], options: &RankOptions) -> Ranked {
    let terms = Terms::of(query);
    let pool = Pool::read(&terms, candidates, options);
    let scored = score::score(&terms, &pool);
    let groups = copies::join(&terms, &pool, scored);
    let distinct = groups.len();
    let hits = choose::choose(&pool, groups, options);
    Ranked { hits, distinct }
}
