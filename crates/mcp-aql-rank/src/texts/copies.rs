//! Merges duplicates: documents that say the same in nearly the same words.

use rustc_hash::FxHashMap;

use crate::text::{Word, scan};

use super::alike::{self, pieces};
use super::details::Details;
use super::document::{Call, Document, Pool};
use super::query::Terms;
use super::score::ScoredDocument;
use super::sketch::Window;

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
/// Maximum number of documents to compare one with. Duplicates come first because they agree in
/// most bands.
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
    let candidates = candidates(pool, &scored);
    let mut candidates = candidates.as_slice();
    // The group of each document, by the document's position in the order.
    let mut group_of: Vec<usize> = Vec::with_capacity(scored.len());
    let mut tried: Vec<usize> = Vec::new();
    for (place, it) in scored.iter().enumerate() {
        let mine = candidates.iter().take_while(|pair| pair.later == place).count();
        let (pairs, others) = candidates.split_at_checked(mine).unwrap_or_default();
        candidates = others;
        tried.clear();
        let mut shingles = None;
        let found = pairs.iter().take(MAX_COMPARED).find_map(|pair| {
            let group = *group_of.get(pair.earlier)?;
            if tried.contains(&group) {
                return None;
            }
            tried.push(group);
            let CopyGroup { document: leader, calls, .. } = groups.get(group)?;
            let (one, other) = (pool.documents.get(*leader)?, pool.documents.get(it.document)?);
            // A server that lists results separately in one call considers them distinct.
            let calls_of_other = || pool.calls(other);
            if pool.calls(one).any(|call| calls_of_other().any(|other| other == call)) {
                return None;
            }
            let own = shingles.get_or_insert_with(|| shingles_of(other));
            let of_one = shingles_of(one);
            // A larger document may contain several parts that another server returned separately.
            if calls_of_other().any(|call| calls.contains(&call)) && of_one.len() <= own.len() {
                return None;
            }
            are_copies(terms, one, &of_one, other, own).then_some(group)
        });
        match found.and_then(|group| Some((group, groups.get_mut(group)?))) {
            Some((group, leader)) => {
                leader.copies.push(it.document);
                for call in
                    pool.documents.get(it.document).into_iter().flat_map(|it| pool.calls(it))
                {
                    if !leader.calls.contains(&call) {
                        leader.calls.push(call);
                    }
                }
                group_of.push(group);
            }
            None => {
                group_of.push(groups.len());
                let (document, score) = (it.document, it.score);
                groups.push(CopyGroup { document, score, copies: Vec::new(), calls: Vec::new() });
            }
        }
    }
    groups
}

/// Two possible duplicates, by their positions in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    later: usize,
    earlier: usize,
}

/// Returns for each document the earlier ones that agree with it in a band, the best agreement
/// first.
fn candidates(pool: &Pool<'_>, scored: &[ScoredDocument]) -> Vec<Pair> {
    let mut bands: Vec<_> = scored
        .iter()
        .filter_map(|it| pool.documents.get(it.document))
        .map(|document| document.sketch.bands())
        .collect();
    let mut agreeing: Vec<Pair> = Vec::new();
    // The first and the last document with a band.
    let mut having: FxHashMap<u64, (usize, usize)> = FxHashMap::default();
    loop {
        let mut any = false;
        having.clear();
        for (later, bands) in bands.iter_mut().enumerate() {
            let Some(band) = bands.next() else { continue };
            any = true;
            let (first, last) = having.entry(band).or_insert((later, later));
            if *first != later {
                agreeing.push(Pair { later, earlier: *first });
                if first != last {
                    agreeing.push(Pair { later, earlier: *last });
                }
                *last = later;
            }
        }
        if !any {
            break;
        }
    }
    agreeing.sort_unstable();
    let mut counted: Vec<(Pair, usize)> = agreeing
        .chunk_by(|one, other| one == other)
        .filter_map(|same| Some((*same.first()?, same.len())))
        .collect();
    counted.sort_by_key(|(pair, times)| (pair.later, std::cmp::Reverse(*times), pair.earlier));
    counted.into_iter().map(|(pair, _)| pair).collect()
}

/// Returns the distinct shingles of a document, sorted.
fn shingles_of(document: &Document<'_>) -> Vec<u64> {
    let mut shingles = Vec::with_capacity(document.sketch.shingles as usize);
    let mut window = Window::default();
    scan(document.content, &mut |word: Word<'_>| {
        if word.kind.identifies_copies() {
            shingles.extend(window.push(word.key));
        }
    });
    shingles.sort_unstable();
    shingles.dedup();
    shingles
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
    if smaller < MIN_SHINGLES {
        return false;
    }
    let shared = shared(of_one, of_other);
    let alike = shared as f64 / (of_one.len() + of_other.len() - shared) as f64;
    let contained = shared as f64 / smaller as f64;
    let words = one.words().min(other.words());
    let same = if words >= SHORT_WORDS {
        alike >= MIN_SIMILARITY || contained >= MIN_CONTAINMENT
    } else {
        let least = if words < BRIEF_WORDS { MIN_BRIEF_SIMILARITY } else { MIN_SIMILARITY };
        smaller >= MIN_CONTAINED_SHINGLES && shared == smaller
            || alike >= least
                && !alike::differ(&pieces(terms, one.content), &pieces(terms, other.content))
    };
    same && !Details::of(one.content).differ(&Details::of(other.content))
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
