//! Measures how many copies are found, and how many different documents are wrongly joined.

use std::collections::HashSet;

use mcp_aql_aggregator::rank::{Candidate, RankOptions, rank};

use super::lines::Goal;
use mcp_aql_bench::random::Random;

/// The results of a search for copies.
#[derive(Debug, Clone, Default)]
pub struct Copies {
    /// For each kind of change: its name, the share of copies found, and the goal.
    pub found: Vec<(String, f64, Goal)>,
    /// Number of pairs of different documents.
    pub pairs: usize,
    /// Number of wrongly joined pairs of different documents.
    pub wrong: usize,
}

type Change = fn(&str, &[&str], &mut Random) -> String;

/// Changes that keep most of a document.
const CHANGES: &[(&str, Goal, Change)] = &[
    ("case, spaces and markdown", Goal::AtLeast(1.0), |text, _, _| {
        format!("**{}**\n", text.to_uppercase().split_whitespace().collect::<Vec<_>>().join("  "))
    }),
    ("2 % of the words changed", Goal::AtLeast(0.98), |text, words, random| {
        edited(text, words, random, 0.02)
    }),
    ("5 % of the words changed", Goal::AtLeast(0.98), |text, words, random| {
        edited(text, words, random, 0.05)
    }),
    ("10 % of the words changed", Goal::AtLeast(0.98), |text, words, random| {
        edited(text, words, random, 0.10)
    }),
    ("20 % of the words changed", Goal::None, |text, words, random| {
        edited(text, words, random, 0.20)
    }),
    ("the first half", Goal::AtLeast(0.95), |text, _, _| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.get(..words.len().div_ceil(2)).unwrap_or_default().join(" ")
    }),
    ("the second half", Goal::AtLeast(0.95), |text, _, _| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.get(words.len() / 2..).unwrap_or_default().join(" ")
    }),
];

/// Replaces, drops or adds a word, with equal probability, at random positions. `part` is the share
/// of positions to change.
fn edited(text: &str, words: &[&str], random: &mut Random, part: f64) -> String {
    let original: Vec<&str> = text.split_whitespace().collect();
    let edits = (original.len() as f64 * part).ceil() as usize;
    let mut places = HashSet::new();
    while places.len() < edits.min(original.len()) {
        places.insert(random.below(original.len()));
    }
    let mut out = Vec::new();
    for (at, word) in original.iter().enumerate() {
        let new = random.pick(words).unwrap_or("new");
        match (places.contains(&at), random.below(3)) {
            (false, _) => out.push(*word),
            (true, 0) => out.push(new),
            (true, 1) => {}
            (true, _) => out.extend([*word, new]),
        }
    }
    out.join(" ")
}

/// Searches for copies among documents and their changed versions, each as a result of another
/// server. The pairs in `known` are copies in the collection itself.
pub fn copies(texts: &[&str], known: &HashSet<(usize, usize)>) -> Copies {
    let words: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
    let mut found = Vec::new();
    for (seed, (name, goal, change)) in CHANGES.iter().enumerate() {
        let mut random = Random::new(seed as u64);
        let changed: Vec<String> =
            texts.iter().map(|text| change(text, &words, &mut random)).collect();
        let mut all = texts.to_vec();
        all.extend(changed.iter().map(String::as_str));
        let together = joined(&all);
        let right = (0..texts.len()).filter(|at| together.contains(&(*at, at + texts.len())));
        found.push(((*name).to_owned(), right.count() as f64 / texts.len() as f64, *goal));
    }
    let wrong = joined(texts).difference(known).count();
    Copies { found, pairs: texts.len() * (texts.len() - 1) / 2 - known.len(), wrong }
}

/// Returns the pairs of documents joined into one hit.
fn joined(texts: &[&str]) -> HashSet<(usize, usize)> {
    let candidates: Vec<Candidate<'_>> = texts
        .iter()
        .enumerate()
        .map(|(server, content)| Candidate { server, call: 0, position: 0, content })
        .collect();
    let options = RankOptions::default().max_results(texts.len());
    let ranked = rank("pressure of the flow on a wing", &candidates, &options);
    let mut pairs = HashSet::new();
    for hit in ranked.hits {
        let mut members = hit.also;
        members.push(hit.candidate);
        for one in &members {
            pairs.extend(members.iter().filter(|other| one < other).map(|other| (*one, *other)));
        }
    }
    pairs
}
