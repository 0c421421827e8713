//! Ranks results of many servers by what they say, and finds those that say the same.
//!
//! A query is scored against the pool of all results at hand: nothing is indexed, nothing is kept.
//!
//! ```
//! use mcp_aql_aggregator::rank::{Candidate, RankOptions, rank};
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

use document::Pool;
use query::Terms;

/// A result that a server gave.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The server, by its place in the configuration.
    pub server: usize,
    /// Which of the calls to this server.
    pub call: usize,
    /// Where the server put it, from 0.
    pub position: usize,
    /// What it says.
    pub content: &'a str,
}

/// How much is wanted, and of what.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RankOptions {
    /// The most hits; 30 by default.
    pub max_results: usize,
    /// By server, how much its results count beside those of others: 2.0 doubles the odds of each.
    /// A server without one has 1.0, as has one whose weight is no number of at least 0.
    pub weights: Vec<f64>,
    /// The most hits of one server; without a limit by default, since a limit costs relevance. Where
    /// servers gave the same, one that may have another hit stands for it.
    pub max_per_server: Option<usize>,
    /// From 0.0 to 1.0: how much relevance counts beside being unlike the hits before (maximal marginal
    /// relevance). By default relevance alone counts. Hits are then no longer in the order of scores.
    ///
    /// Each hit is compared with four times as many as are wanted, and at most 400; the results behind
    /// these follow in the order of scores.
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

/// Results in their order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Ranked {
    /// The best ones, the best first.
    pub hits: Vec<RankedHit>,
    /// How many candidates say something of their own, whether they are among the hits or not.
    pub distinct: usize,
}

/// One of the best.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RankedHit {
    /// Its place among the candidates.
    pub candidate: usize,
    /// How well it answers the query, or the best of its copies does: at least 0 and less than 1.
    ///
    /// It grows with the part of the query that the text has, rare words counting more, and with how
    /// often it has it: all words once give about 0.3. So scores of different queries can be compared: a
    /// weak answer looks weak, also where there is no better one. But only roughly, since how rare a word
    /// is, how long texts are and how far a server's order is trusted depend on all candidates.
    pub score: f64,
    /// Candidates that say the same, by their places.
    pub also: Vec<usize>,
}

/// Ranks candidates by what they say of the query, and joins those that say the same.
///
/// The same candidates give the same hits, in whatever order they come. Many texts are read on several
/// threads, and the call returns when they are done: in async code it has its place on a thread for work
/// that blocks.
///
/// A text without any word of the query has next to no score, and where others have one it is a hit only
/// if it was among the first three of its call: whoever searches by meaning has its best there.
pub fn rank(query: &str, candidates: &[Candidate<'_>], options: &RankOptions) -> Ranked {
    let terms = Terms::of(query);
    let pool = Pool::read(&terms, candidates, options);
    let scored = score::score(&terms, &pool);
    let groups = copies::join(&terms, &pool, scored);
    let distinct = groups.len();
    let hits = choose::choose(&pool, groups, options);
    Ranked { hits, distinct }
}
