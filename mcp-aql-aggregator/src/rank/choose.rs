//! Which of the ranked are returned.

use rustc_hash::FxHashMap;

use crate::text::{Word, scan};

use super::copies::Group;
use super::document::{Document, Pool};
use super::{RankOptions, RankedHit};

/// How many groups for each hit are compared for being unlike.
const CONSIDERED: usize = 4;
/// And how many at most, since each that is taken is compared with all that wait.
const MOST_CONSIDERED: usize = 400;
/// Words longer than this say what a text is about; shorter ones mostly hold it together.
const SHORT_WORD: usize = 3;
/// Down to which place of its call a text without any word of the query is returned, where others have
/// one: a server that searches by meaning has its best there, one that lists whatever it has goes on.
const UNMATCHED: usize = 3;

/// The best groups, as many as are wanted.
pub(super) fn choose(
    pool: &Pool<'_>,
    mut groups: Vec<Group>,
    options: &RankOptions,
) -> Vec<RankedHit> {
    if pool.documents.iter().any(|document| !pool.matches(document).is_empty()) {
        groups.retain(|group| {
            let documents = std::iter::once(&group.document).chain(&group.copies);
            documents
                .filter_map(|place| pool.documents.get(*place))
                .any(|document| document.position < UNMATCHED || !pool.matches(document).is_empty())
        });
    }
    let mut hits = Hits { pool, options, of_server: FxHashMap::default(), taken: Vec::new() };
    let groups = match options.mmr.filter(|relevance| relevance.is_finite()) {
        Some(relevance) => diverse(&mut hits, groups, relevance.clamp(0.0, 1.0)),
        None => groups,
    };
    for group in groups {
        if hits.is_full() {
            break;
        }
        hits.take(&group);
    }
    hits.taken
}

/// What is returned.
struct Hits<'a> {
    pool: &'a Pool<'a>,
    options: &'a RankOptions,
    /// How many of each server there are.
    of_server: FxHashMap<usize, usize>,
    taken: Vec<RankedHit>,
}

impl Hits<'_> {
    fn is_full(&self) -> bool {
        self.taken.len() >= self.options.max_results
    }

    /// Takes a group, shown by the first in it whose server may have another hit. Says whether there is one.
    fn take(&mut self, group: &Group) -> bool {
        let documents = std::iter::once(&group.document).chain(&group.copies);
        let mut also: Vec<usize> = documents
            .filter_map(|place| self.pool.documents.get(*place))
            .flat_map(|document| std::iter::once(&document.candidate).chain(&document.twins))
            .copied()
            .collect();
        let most = self.options.max_per_server.unwrap_or(usize::MAX);
        let shown = also.iter().enumerate().find_map(|(place, candidate)| {
            let (server, _) = self.pool.call(*candidate)?;
            (self.of_server.get(&server).copied().unwrap_or_default() < most)
                .then_some((place, server))
        });
        let Some((place, server)) = shown else { return false };
        *self.of_server.entry(server).or_default() += 1;
        let candidate = also.remove(place);
        self.taken.push(RankedHit { candidate, score: group.score, also });
        true
    }
}

/// A group that waits to be taken.
struct Waiting {
    group: Group,
    /// Its place among the vectors.
    vector: usize,
    /// How much it is like one that was taken, at most.
    likeness: f64,
}

/// Takes groups in the order of maximal marginal relevance: each time the one whose relevance, less its
/// likeness to those before, is greatest. Returns those that were not compared.
fn diverse(hits: &mut Hits<'_>, mut groups: Vec<Group>, relevance: f64) -> Vec<Group> {
    let considered = hits.options.max_results.saturating_mul(CONSIDERED).min(MOST_CONSIDERED);
    let rest = groups.split_off(considered.min(groups.len()));
    let best = groups.first().map_or(1.0, |group| group.score.max(1e-6));
    let vectors = vectors(hits.pool, &groups);
    // By word, the groups that have it.
    let mut having: FxHashMap<u64, Vec<(usize, f64)>> = FxHashMap::default();
    for (place, words) in vectors.iter().enumerate() {
        for (word, weight) in words {
            having.entry(*word).or_default().push((place, *weight));
        }
    }
    let mut cosines = vec![0.0; vectors.len()];
    let mut waiting: Vec<Waiting> = groups
        .into_iter()
        .enumerate()
        .map(|(vector, group)| Waiting { group, vector, likeness: 0.0 })
        .collect();
    while !hits.is_full() && !waiting.is_empty() {
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
        if !hits.take(&it.group) {
            continue;
        }
        cosines.fill(0.0);
        for (word, weight) in vectors.get(it.vector).into_iter().flatten() {
            for (place, same) in having.get(word).into_iter().flatten() {
                if let Some(cosine) = cosines.get_mut(*place) {
                    *cosine += weight * same;
                }
            }
        }
        for other in &mut waiting {
            let cosine = cosines.get(other.vector).copied().unwrap_or_default();
            // Rounded, as scores are: this decides an order too.
            other.likeness = other.likeness.max((cosine * 1e6).round() / 1e6);
        }
    }
    rest
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
