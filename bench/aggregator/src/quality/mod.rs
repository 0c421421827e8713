//! Measures the ranking quality on collections with human relevance judgments.

mod collection;
mod copies;
mod engine;
mod lines;
mod split;

use std::collections::HashSet;

use mcp_aql_aggregator::rank::{Candidate, RankOptions, Ranked, rank};
use mcp_aql_bench::random::Random;

pub use collection::{Collection, Query};
pub use copies::{Copies, copies};
pub use engine::{Bag, Engine, Index, Words};
pub use lines::{Goal, Line, Unit, copies_lines, merged_lines, orders_line};
pub use split::{RESULTS, Split};

/// Number of hits that count for nDCG.
const DEPTH: usize = 10;
/// Number of hits to return.
const RETURNED: usize = 30;

/// Means over all queries, and over all ways to distribute a collection over the servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Merged {
    /// nDCG@10 of the aggregator's ranking.
    pub ours: f64,
    /// nDCG@10 of one BM25 index of all documents.
    pub central: f64,
    /// nDCG@10 of taking the servers' results in turn.
    pub round_robin: f64,
    /// Size of the 30 hits, as a share of the pool's bytes.
    pub size: f64,
    /// Share of the pool's relevant documents among the hits.
    pub kept: f64,
    /// The same share for the first 30 results taken in turn.
    pub kept_round_robin: f64,
    /// Number of documents in a pool: the results of all servers for one query.
    pub pool: f64,
}

/// Merges the results of `servers` servers for each query, and compares with the other methods.
pub fn merged(collection: &Collection, servers: usize) -> Merged {
    let mut words = Words::default();
    let bags: Vec<Bag> = collection.documents.iter().map(|text| words.bag(text)).collect();
    let queries: Vec<Bag> = collection.queries.iter().map(|query| words.bag(&query.text)).collect();
    let central = Index::new(&bags, 0..bags.len());
    let mut means = Merged::default();
    let (mut times, mut with_relevant) = (0.0, 0.0);
    for split in Split::all(&bags, servers) {
        for (query, bag) in collection.queries.iter().zip(&queries) {
            let lists = split.ask(bag);
            let pool: Vec<usize> = candidates(collection, &lists).1;
            let all: HashSet<usize> = pool.iter().copied().collect();
            let hits = merge(collection, query, &lists);
            let turns = in_turns(&lists);
            let one = central.search(Engine::Bm25, bag, DEPTH);
            means.ours += ndcg(hits.iter().map(|hit| hit.as_slice()), query);
            means.central += ndcg(one.chunks(1), query);
            means.round_robin += ndcg(turns.chunks(1), query);
            means.pool += pool.len() as f64;
            let bytes = |places: &mut dyn Iterator<Item = usize>| -> usize {
                places.filter_map(|place| collection.documents.get(place)).map(String::len).sum()
            };
            let raw = bytes(&mut pool.iter().copied()).max(1);
            means.size +=
                bytes(&mut hits.iter().filter_map(|hit| hit.first().copied())) as f64 / raw as f64;
            let relevant = all.intersection(&query.relevant).count();
            if relevant > 0 {
                let kept = |places: HashSet<usize>| {
                    places.intersection(&query.relevant).count() as f64 / relevant as f64
                };
                // Only the first document of a hit is visible. A document joined to it does not count.
                means.kept += kept(hits.iter().filter_map(|hit| hit.first().copied()).collect());
                means.kept_round_robin += kept(turns.iter().take(RETURNED).copied().collect());
                with_relevant += 1.0;
            }
            times += 1.0;
        }
    }
    for mean in [
        &mut means.ours,
        &mut means.central,
        &mut means.round_robin,
        &mut means.size,
        &mut means.pool,
    ] {
        *mean /= times;
    }
    means.kept /= with_relevant;
    means.kept_round_robin /= with_relevant;
    means
}

/// Returns the servers' results as candidates, and the index in the collection of each.
fn candidates<'a>(
    collection: &'a Collection,
    lists: &[Vec<usize>],
) -> (Vec<Candidate<'a>>, Vec<usize>) {
    let mut found = (Vec::new(), Vec::new());
    for (server, list) in lists.iter().enumerate() {
        for (position, place) in list.iter().enumerate() {
            if let Some(content) = collection.documents.get(*place) {
                found.0.push(Candidate { server, call: 0, position, content });
                found.1.push(*place);
            }
        }
    }
    found
}

/// Returns the aggregator's hits. Each hit lists the joined documents, starting with the visible one.
fn merge(collection: &Collection, query: &Query, lists: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let (candidates, places) = candidates(collection, lists);
    let Ranked { hits, .. } =
        rank(&query.text, &candidates, &RankOptions::default().max_results(RETURNED));
    let place = |candidate: &usize| places.get(*candidate).copied();
    hits.iter()
        .map(|hit| std::iter::once(&hit.candidate).chain(&hit.also).filter_map(place).collect())
        .collect()
}

/// Ranks the results of ten servers in `orders` random orders of arrival. Returns the number of
/// distinct answers. Ideally it is 1.
pub fn orders(collection: &Collection, orders: usize) -> usize {
    let mut words = Words::default();
    let bags: Vec<Bag> = collection.documents.iter().map(|text| words.bag(text)).collect();
    let splits = Split::all(&bags, 10);
    let mut random = Random::new(0);
    let mut answers = HashSet::new();
    if let (Some(query), Some(split)) = (collection.queries.first(), splits.last()) {
        let lists = split.ask(&words.bag(&query.text));
        let mut arrived = candidates(collection, &lists).0;
        for _ in 0..orders {
            for at in (1..arrived.len()).rev() {
                arrived.swap(at, random.below(at + 1));
            }
            let options = RankOptions::default().max_results(RETURNED);
            let ranked = rank(&query.text, &arrived, &options);
            let of = |place: &usize| arrived.get(*place).map(|it| (it.server, it.position));
            let told = ranked.hits.iter().map(|hit| {
                let mut also: Vec<_> = hit.also.iter().map(of).collect();
                also.sort_unstable();
                (of(&hit.candidate), hit.score.to_bits(), also)
            });
            answers.insert(told.collect::<Vec<_>>());
        }
    }
    answers.len()
}

/// Takes the first result of each server, then the second of each and so on, without repeating documents.
fn in_turns(lists: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = HashSet::new();
    (0..RESULTS)
        .flat_map(|at| lists.iter().filter_map(move |list| list.get(at).copied()))
        .filter(|place| seen.insert(*place))
        .collect()
}

/// Computes nDCG@10 with gains of 0 and 1 against the ideal order of the whole collection. Only
/// the visible document of a hit counts.
fn ndcg<'a>(hits: impl Iterator<Item = &'a [usize]>, query: &Query) -> f64 {
    let gain = |at: usize| 1.0 / (at as f64 + 2.0).log2();
    let found: f64 = hits
        .take(DEPTH)
        .enumerate()
        .filter(|(_, hit)| hit.first().is_some_and(|place| query.relevant.contains(place)))
        .map(|(at, _)| gain(at))
        .sum();
    let best: f64 = (0..query.relevant.len().min(DEPTH)).map(gain).sum();
    found / best
}
