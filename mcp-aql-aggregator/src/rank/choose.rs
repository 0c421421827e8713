//! Which of the ranked are returned.

use rustc_hash::FxHashMap;

use crate::text::{Word, scan};

use super::copies::Group;
use super::document::{Document, Pool};
use super::{RankOptions, RankedHit};

/// How many groups for each hit are compared for being unlike.
const CONSIDERED: usize = 4;
/// Words longer than this say what a text is about; shorter ones mostly hold it together.
const SHORT_WORD: usize = 3;

/// The best groups, as many as are wanted.
pub(super) fn choose(pool: &Pool<'_>, groups: Vec<Group>, options: &RankOptions) -> Vec<RankedHit> {
    let groups = match options.mmr.filter(|relevance| relevance.is_finite()) {
        Some(relevance) => diverse(pool, groups, options, relevance.clamp(0.0, 1.0)),
        None => groups,
    };
    let mut of_server: FxHashMap<usize, usize> = FxHashMap::default();
    let most = options.max_per_server.unwrap_or(usize::MAX);
    let documents = groups
        .into_iter()
        .filter_map(|group| Some((pool.documents.get(group.document)?, group)))
        .filter(|(document, _)| {
            let has = of_server.entry(document.server).or_default();
            *has += 1;
            *has <= most
        });
    documents
        .take(options.max_results)
        .map(|(document, group)| {
            let mut also = document.twins.clone();
            for copy in group.copies.iter().filter_map(|copy| pool.documents.get(*copy)) {
                also.push(copy.candidate);
                also.extend(&copy.twins);
            }
            RankedHit { candidate: document.candidate, score: group.score, also }
        })
        .collect()
}

/// A group that waits to be taken.
struct Waiting {
    group: Group,
    words: Vec<(u64, f64)>,
    /// How much it is like one that was taken, at most.
    likeness: f64,
}

/// In the order of maximal marginal relevance: each time the one whose relevance, less its likeness to
/// those before, is greatest.
fn diverse(
    pool: &Pool<'_>,
    mut groups: Vec<Group>,
    options: &RankOptions,
    relevance: f64,
) -> Vec<Group> {
    // With a limit for each server even the last one may be wanted.
    let wanted = match options.max_per_server {
        Some(_) => usize::MAX,
        None => options.max_results,
    };
    let considered = options.max_results.saturating_mul(CONSIDERED).min(groups.len());
    let rest = groups.split_off(considered);
    let best = groups.first().map_or(1.0, |group| group.score.max(1e-6));
    let vectors = vectors(pool, &groups);
    let mut waiting: Vec<Waiting> = groups
        .into_iter()
        .zip(vectors)
        .map(|(group, words)| Waiting { group, words, likeness: 0.0 })
        .collect();
    let mut taken: Vec<Group> = Vec::new();
    while taken.len() < wanted && !waiting.is_empty() {
        let value =
            |it: &Waiting| relevance * it.group.score / best - (1.0 - relevance) * it.likeness;
        let mut next = (0, f64::NEG_INFINITY);
        for (place, it) in waiting.iter().enumerate() {
            // Of equal ones the first, which has the better score.
            if value(it) > next.1 {
                next = (place, value(it));
            }
        }
        let it = waiting.remove(next.0);
        for other in &mut waiting {
            other.likeness = other.likeness.max(cosine(&it.words, &other.words));
        }
        taken.push(it.group);
    }
    taken.extend(waiting.into_iter().map(|it| it.group));
    taken.extend(rest);
    taken
}

/// For each group its words with their weights, sorted, of length 1: rare words weigh more.
fn vectors(pool: &Pool<'_>, groups: &[Group]) -> Vec<Vec<(u64, f64)>> {
    let mut having: FxHashMap<u64, f64> = FxHashMap::default();
    let words: Vec<Vec<u64>> = groups
        .iter()
        .map(|group| pool.documents.get(group.document).map(words).unwrap_or_default())
        .inspect(|words| words.iter().for_each(|word| *having.entry(*word).or_default() += 1.0))
        .collect();
    let all = groups.len() as f64;
    let weight = |word: u64| (1.0 + all / having.get(&word).copied().unwrap_or(1.0)).ln();
    words
        .into_iter()
        .map(|words| {
            let words: Vec<(u64, f64)> =
                words.into_iter().map(|word| (word, weight(word))).collect();
            let norm = words.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
            words.into_iter().map(|(word, weight)| (word, weight / norm)).collect()
        })
        .collect()
}

/// The words of a document that say something, sorted, each once.
fn words(document: &Document<'_>) -> Vec<u64> {
    let mut words = Vec::new();
    scan(document.content, &mut |word: Word<'_>| {
        if word.kind.tells_copies() && word.text.len() > SHORT_WORD {
            words.push(word.key);
        }
    });
    words.sort_unstable();
    words.dedup();
    words
}

/// Of two sorted vectors of length 1. Rounded, as scores are: this decides an order too.
fn cosine(one: &[(u64, f64)], other: &[(u64, f64)]) -> f64 {
    let mut other = other.iter().peekable();
    let mut sum = 0.0;
    for (word, weight) in one {
        while other.next_if(|(next, _)| next < word).is_some() {}
        if let Some((_, same)) = other.next_if(|(next, _)| next == word) {
            sum += weight * same;
        }
    }
    (sum * 1e6).round() / 1e6
}
