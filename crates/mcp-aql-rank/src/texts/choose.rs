//! Selects the hits from the ranked groups.

use rustc_hash::FxHashMap;

use crate::text::{Word, scan};

use super::copies::CopyGroup;
use super::document::{Document, Pool};
use super::{RankOptions, RankedHit};

/// Number of groups per hit to compare for diversity.
const CONSIDERED_PER_HIT: usize = 4;
/// Maximum number of groups to compare for diversity. Each selected group is compared with all
/// remaining ones, so the time grows with the square.
const MAX_CONSIDERED: usize = 400;
/// Maximum length in bytes of a word ignored in comparisons. Longer words say what a document is
/// about.
const MAX_SHORT_WORD_BYTES: usize = 3;
/// Number of leading results of a call to return even without a word of the query, if other
/// results have one. The best results of a server that searches by meaning are there, while a
/// server that lists everything continues after them.
const MAX_UNMATCHED_POSITION: usize = 3;

/// Selects the best groups, at most the requested number.
pub(super) fn choose(
    pool: &Pool<'_>,
    mut groups: Vec<CopyGroup>,
    options: &RankOptions,
) -> Vec<RankedHit> {
    if pool.documents.iter().any(|document| !pool.matches(document).is_empty()) {
        groups.retain(|group| {
            let documents = std::iter::once(&group.document).chain(&group.copies);
            documents.filter_map(|place| pool.documents.get(*place)).any(|document| {
                document.position < MAX_UNMATCHED_POSITION || !pool.matches(document).is_empty()
            })
        });
    }
    let mut hits =
        HitSelection { pool, options, of_server: FxHashMap::default(), taken: Vec::new() };
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

/// The hits selected so far.
struct HitSelection<'a> {
    pool: &'a Pool<'a>,
    options: &'a RankOptions,
    /// Number of hits per server.
    of_server: FxHashMap<usize, usize>,
    taken: Vec<RankedHit>,
}

impl HitSelection<'_> {
    fn is_full(&self) -> bool {
        self.taken.len() >= self.options.max_results
    }

    /// Selects a group, represented by its first member whose server may have another hit. Returns
    /// `false` if there is no such member.
    fn take(&mut self, group: &CopyGroup) -> bool {
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

/// A group not selected yet.
struct RemainingGroup {
    group: CopyGroup,
    /// Index of the group's vector.
    vector: usize,
    /// The greatest similarity to a selected group.
    likeness: f64,
}

/// Selects groups by maximal marginal relevance. Each time, selects the one with the greatest
/// relevance minus its similarity to the selected ones. Returns the groups that were not compared.
fn diverse(
    hits: &mut HitSelection<'_>,
    mut groups: Vec<CopyGroup>,
    relevance: f64,
) -> Vec<CopyGroup> {
    let considered =
        hits.options.max_results.saturating_mul(CONSIDERED_PER_HIT).min(MAX_CONSIDERED);
    let rest = groups.split_off(considered.min(groups.len()));
    let best = groups.first().map_or(1.0, |group| group.score.max(1e-6));
    let vectors = vectors(hits.pool, &groups);
    // The groups with each word.
    let mut having: FxHashMap<u64, Vec<(usize, f64)>> = FxHashMap::default();
    for (place, words) in vectors.iter().enumerate() {
        for (word, weight) in words {
            having.entry(*word).or_default().push((place, *weight));
        }
    }
    let mut cosines = vec![0.0; vectors.len()];
    let mut waiting: Vec<RemainingGroup> = groups
        .into_iter()
        .enumerate()
        .map(|(vector, group)| RemainingGroup { group, vector, likeness: 0.0 })
        .collect();
    while !hits.is_full() && !waiting.is_empty() {
        let value = |it: &RemainingGroup| {
            relevance * it.group.score / best - (1.0 - relevance) * it.likeness
        };
        let mut next = (0, f64::NEG_INFINITY);
        for (place, it) in waiting.iter().enumerate() {
            // Among equal values, the first one has the better score.
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
            // Similarities are rounded like scores, because they decide an order, too.
            other.likeness = other.likeness.max((cosine * 1e6).round() / 1e6);
        }
    }
    rest
}

/// Returns each group's words with weights as a sorted vector of length 1. Rare words weigh more.
fn vectors(pool: &Pool<'_>, groups: &[CopyGroup]) -> Vec<Vec<(u64, f64)>> {
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

/// Returns the distinct content words of a document, sorted.
fn words(document: &Document<'_>) -> Vec<u64> {
    let mut words = Vec::new();
    scan(document.content, &mut |word: Word<'_>| {
        if word.kind.identifies_copies() && word.text.len() > MAX_SHORT_WORD_BYTES {
            words.push(word.key);
        }
    });
    words.sort_unstable();
    words.dedup();
    words
}
