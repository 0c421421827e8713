//! Distributes a collection over several servers.

use super::engine::{Bag, Engine, Index};
use mcp_aql_bench::random::Random;

/// Number of results that a server returns for a query.
pub const RESULTS: usize = 15;

/// The strategy for assigning documents to servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    /// Uniformly at random.
    Random,
    /// Each server gets half as many documents as the previous one, but at least a tenth of the first
    /// server's share.
    Skewed,
    /// Each server has a seed document. A document goes to the server with the most similar seed.
    Topical,
    /// Uniformly at random. Three of ten documents are also on a second server.
    Overlapping,
}

const SPREADS: [Spread; 4] = [Spread::Random, Spread::Skewed, Spread::Topical, Spread::Overlapping];

/// Servers that together contain a collection.
#[derive(Debug)]
pub struct Split<'a> {
    servers: Vec<(Engine, Index<'a>)>,
}

impl<'a> Split<'a> {
    /// Returns all ways to distribute the documents over `servers` servers. Each way occurs twice:
    /// once all servers rank with BM25, and once they use different ranking functions or none.
    pub fn all(bags: &'a [Bag], servers: usize) -> Vec<Self> {
        const MIXED: [Engine; 4] = [Engine::Bm25, Engine::TfIdf, Engine::Count, Engine::Unranked];
        let mut splits = Vec::new();
        for (seed, spread) in SPREADS.into_iter().enumerate() {
            for mixed in [false, true] {
                let mut random = Random::new((seed * 100 + servers) as u64);
                let places = places(spread, bags, servers, &mut random);
                let engines = MIXED.into_iter().cycle();
                let split = places.into_iter().zip(engines).map(|(places, engine)| {
                    let engine = if mixed { engine } else { Engine::Bm25 };
                    (engine, Index::new(bags, places))
                });
                splits.push(Self { servers: split.collect() });
            }
        }
        splits
    }

    /// Returns the results of each server.
    pub fn ask(&self, query: &Bag) -> Vec<Vec<usize>> {
        self.servers.iter().map(|(engine, index)| index.search(*engine, query, RESULTS)).collect()
    }
}

fn places(spread: Spread, bags: &[Bag], servers: usize, random: &mut Random) -> Vec<Vec<usize>> {
    let mut places = vec![Vec::new(); servers];
    let mut put = |server: usize, document| {
        if let Some(server) = places.get_mut(server) {
            server.push(document);
        }
    };
    let shares: Vec<f64> =
        (0..servers).map(|server| 0.5_f64.powf(server as f64).max(0.1)).collect();
    let seeds: Vec<usize> = (0..servers).map(|_| random.below(bags.len())).collect();
    // The index gives rare words more weight, so documents with the same rare words are similar.
    let all = Index::new(bags, 0..bags.len());
    for document in 0..bags.len() {
        match spread {
            Spread::Random => put(random.below(servers), document),
            Spread::Skewed => put(random.weighted(&shares), document),
            Spread::Topical => put(all.nearest(document, &seeds), document),
            Spread::Overlapping => {
                let first = random.below(servers);
                put(first, document);
                if random.below(10) < 3 {
                    put((first + 1 + random.below(servers - 1)) % servers, document);
                }
            }
        }
    }
    places
}
