//! Merges duplicates: documents that say the same in nearly the same words.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::differences::differ;
use super::document::{Call, Document, Pool};
use super::query::Terms;
use super::score::ScoredDocument;
use super::shingles::Shingles;

/// Minimum Jaccard similarity of the shingles of two duplicates.
const MIN_SIMILARITY: f64 = 0.5;
/// The same for brief documents, because a few words make a difference in them.
const MIN_BRIEF_SIMILARITY: f64 = 0.8;
/// Minimum share of the shorter document's shingles in a longer one that contains it.
const MIN_CONTAINMENT: f64 = 0.9;
/// Number of words below which a document is short. Two short documents may differ only in the
/// words that matter.
const SHORT_WORDS: u32 = 60;
/// Number of words below which a document is brief.
const BRIEF_WORDS: u32 = 40;
/// Minimum number of shingles for containment. Fewer may occur in another document by chance.
const MIN_CONTAINED_SHINGLES: usize = 12;
/// Minimum number of shingles of a document for a comparison.
const MIN_SHINGLES: usize = 8;
/// Maximum number of shingles that two duplicates do not share. The time to compare their words
/// grows with the square of the differences.
const MAX_DIFFERENT_SHINGLES: usize = 2_000;
/// Minimum number of shingles that the sketches of two duplicates share. A part of an eighth of a
/// document shares about three; documents of few words share some by chance.
const MIN_AGREEMENT: usize = 3;
/// Maximum number of groups to compare a document with. Duplicates come first because they share
/// most of their sketches.
const MAX_COMPARED: usize = 8;

/// A document that represents itself and its duplicates.
#[derive(Debug)]
pub(super) struct CopyGroup {
    pub(super) document: usize,
    pub(super) score: f64,
    /// The duplicates, ordered by score.
    pub(super) copies: Vec<usize>,
    /// The calls that returned the duplicates.
    calls: Vec<Call>,
}

/// Adds duplicates to the best-scored document among them. Groups keep the order of the scores.
pub(super) fn join(terms: &Terms, pool: &Pool<'_>, scored: Vec<ScoredDocument>) -> Vec<CopyGroup> {
    let mut groups: Vec<CopyGroup> = Vec::with_capacity(scored.len());
    // The first and the last group with each shingle of a sketch.
    let mut having: FxHashMap<u64, [usize; 2]> = FxHashMap::default();
    for it in scored {
        let Some(document) = pool.documents.get(it.document) else { continue };
        let mut own = None;
        let found = candidates(document, &having).into_iter().find(|group| {
            groups.get(*group).is_some_and(|group| {
                let own = own.get_or_insert_with(|| Shingles::of(document.content));
                belongs(terms, pool, group, document, own)
            })
        });
        match found.and_then(|group| groups.get_mut(group)) {
            Some(group) => {
                group.copies.push(it.document);
                group.calls.extend(pool.calls(document));
            }
            None => {
                for shingle in &document.sketch {
                    let group = groups.len();
                    having.entry(*shingle).or_insert([group; 2])[1] = group;
                }
                let (document, score) = (it.document, it.score);
                groups.push(CopyGroup { document, score, copies: Vec::new(), calls: Vec::new() });
            }
        }
    }
    groups
}

/// Returns the groups that share the most shingles of their sketches with a document, the best
/// agreement first.
fn candidates(document: &Document<'_>, having: &FxHashMap<u64, [usize; 2]>) -> Vec<usize> {
    let mut agreeing: Vec<usize> = Vec::new();
    for [first, last] in document.sketch.iter().filter_map(|shingle| having.get(shingle)) {
        agreeing.push(*first);
        if first != last {
            agreeing.push(*last);
        }
    }
    agreeing.sort_unstable();
    let mut counted: Vec<(Reverse<usize>, usize)> = agreeing
        .chunk_by(|one, other| one == other)
        .filter(|same| same.len() >= MIN_AGREEMENT)
        .filter_map(|same| Some((Reverse(same.len()), *same.first()?)))
        .collect();
    counted.sort_unstable();
    counted.into_iter().take(MAX_COMPARED).map(|(_, group)| group).collect()
}

/// Returns `true` if a document is a duplicate of a group's document. `own` has its shingles.
fn belongs(
    terms: &Terms,
    pool: &Pool<'_>,
    group: &CopyGroup,
    document: &Document<'_>,
    own: &[u64],
) -> bool {
    let Some(leader) = pool.documents.get(group.document) else { return false };
    // A server that lists results separately in one call considers them distinct.
    if pool.calls(leader).any(|call| pool.calls(document).any(|other| other == call)) {
        return false;
    }
    let of_leader = Shingles::of(leader.content);
    // A larger document may contain several parts that another server returned separately.
    if pool.calls(document).any(|call| group.calls.contains(&call)) && of_leader.len() <= own.len()
    {
        return false;
    }
    are_copies(terms, leader, &of_leader, document, own)
}

/// Returns `true` if two documents are duplicates, judged by their shared shingles and their
/// differences.
fn are_copies(
    terms: &Terms,
    one: &Document<'_>,
    of_one: &[u64],
    other: &Document<'_>,
    of_other: &[u64],
) -> bool {
    let smaller = of_one.len().min(of_other.len());
    let shared = shared(of_one, of_other);
    let all = of_one.len() + of_other.len() - shared;
    if smaller < MIN_SHINGLES || all - shared > MAX_DIFFERENT_SHINGLES {
        return false;
    }
    let words = one.words().min(other.words());
    let is_whole = shared == smaller && smaller >= MIN_CONTAINED_SHINGLES;
    let is_contained =
        words >= SHORT_WORDS && shared as f64 / smaller as f64 >= MIN_CONTAINMENT || is_whole;
    let least = if words < BRIEF_WORDS { MIN_BRIEF_SIMILARITY } else { MIN_SIMILARITY };
    let are_alike = shared as f64 / all as f64 >= least;
    let terms = Some(terms).filter(|_| words < SHORT_WORDS && !is_whole);
    (is_contained || are_alike) && !differ(terms, one.content, other.content)
}

/// Counts the elements that two sorted lists share.
fn shared(one: &[u64], other: &[u64]) -> usize {
    let mut other = other.iter().peekable();
    one.iter()
        .filter(|shingle| {
            while other.next_if(|next| next < shingle).is_some() {}
            other.next_if_eq(shingle).is_some()
        })
        .count()
}
