//! Measures how many different answers the order of arrival causes.

use std::collections::HashSet;

use mcp_aql_aggregator::rank::{RankOptions, rank};

use super::engine::{Bag, Words};
use super::{Collection, RETURNED, Split, candidates};
use crate::random::Random;

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
