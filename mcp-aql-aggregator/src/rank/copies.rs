//! Finds texts that say the same in nearly the same words.

use rustc_hash::FxHashMap;

use crate::text::{Word, scan};

use super::alike::{self, pieces};
use super::details::Details;
use super::document::{Call, Document, Pool};
use super::query::Terms;
use super::score::Scored;
use super::sketch::Window;

/// Of all shingles of two texts, the part that copies have in common at least.
const ALIKE: f64 = 0.5;
/// The same for brief texts, in which a few words make the difference.
const ALIKE_BRIEF: f64 = 0.8;
/// Of the shorter text, the part that the longer one has, when it holds a copy of it.
const CONTAINED: f64 = 0.9;
/// Texts with fewer words are short: two of them may differ in nothing but what matters.
const SHORT: u32 = 60;
/// And with fewer they are brief.
const BRIEF: u32 = 40;
/// Fewer shingles may be in another text by chance.
const FEW: usize = 12;
/// Fewer are too few to be anything but the same or not.
const TINY: usize = 8;
/// The most texts that one is compared with: copies come first, since they agree in most bands.
const MOST_COMPARED: usize = 8;

/// A document that stands for itself and for its copies.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) document: usize,
    pub(super) score: f64,
    /// In the order of their scores.
    pub(super) copies: Vec<usize>,
    /// The calls that gave the copies.
    calls: Vec<Call>,
}

/// Joins copies to the best-scored of them; groups keep the order of scores.
pub(super) fn join(terms: &Terms, pool: &Pool<'_>, scored: Vec<Scored>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::with_capacity(scored.len());
    let candidates = candidates(pool, &scored);
    let mut candidates = candidates.as_slice();
    // By place in the order: the group that the document went into.
    let mut group_of: Vec<usize> = Vec::with_capacity(scored.len());
    let mut tried: Vec<usize> = Vec::new();
    for (place, it) in scored.iter().enumerate() {
        let mine = candidates.iter().take_while(|pair| pair.later == place).count();
        let (pairs, others) = candidates.split_at_checked(mine).unwrap_or_default();
        candidates = others;
        tried.clear();
        let mut shingles = None;
        let found = pairs.iter().take(MOST_COMPARED).find_map(|pair| {
            let group = *group_of.get(pair.earlier)?;
            if tried.contains(&group) {
                return None;
            }
            tried.push(group);
            let Group { document: leader, calls, .. } = groups.get(group)?;
            let (one, other) = (pool.documents.get(*leader)?, pool.documents.get(it.document)?);
            // A server says itself that the results of one call are so many things.
            let calls_of_other = || pool.calls(other);
            if pool.calls(one).any(|call| calls_of_other().any(|other| other == call)) {
                return None;
            }
            let own = shingles.get_or_insert_with(|| shingles_of(other));
            let of_one = shingles_of(one);
            // But one may hold what another server gives in several parts.
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
                groups.push(Group { document, score, copies: Vec::new(), calls: Vec::new() });
            }
        }
    }
    groups
}

/// Two documents that may be copies, by their places in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    later: usize,
    earlier: usize,
}

/// For each document those before it that agree with it in a band, those that do so most first.
fn candidates(pool: &Pool<'_>, scored: &[Scored]) -> Vec<Pair> {
    let mut bands: Vec<_> = scored
        .iter()
        .filter_map(|it| pool.documents.get(it.document))
        .map(|document| document.sketch.bands())
        .collect();
    let mut agreeing: Vec<Pair> = Vec::new();
    // The first document that had it, and the last.
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

/// The shingles of a document, sorted, each once.
fn shingles_of(document: &Document<'_>) -> Vec<u64> {
    let mut shingles = Vec::with_capacity(document.sketch.shingles as usize);
    let mut window = Window::default();
    scan(document.content, &mut |word: Word<'_>| {
        if word.kind.tells_copies() {
            shingles.extend(window.push(word.key));
        }
    });
    shingles.sort_unstable();
    shingles.dedup();
    shingles
}

/// Whether two documents are, by the shingles that they share and by what parts them.
fn are_copies(
    terms: &Terms,
    one: &Document<'_>,
    of_one: &[u64],
    other: &Document<'_>,
    of_other: &[u64],
) -> bool {
    let smaller = of_one.len().min(of_other.len());
    if smaller < TINY {
        return false;
    }
    let shared = shared(of_one, of_other);
    let alike = shared as f64 / (of_one.len() + of_other.len() - shared) as f64;
    let contained = shared as f64 / smaller as f64;
    let words = one.words().min(other.words());
    let same = if words >= SHORT {
        alike >= ALIKE || contained >= CONTAINED
    } else {
        let least = if words < BRIEF { ALIKE_BRIEF } else { ALIKE };
        smaller >= FEW && shared == smaller
            || alike >= least
                && !alike::differ(&pieces(terms, one.content), &pieces(terms, other.content))
    };
    same && !Details::of(one.content).differ(&Details::of(other.content))
}

/// How many of two sorted lists are in both.
fn shared(one: &[u64], other: &[u64]) -> usize {
    let mut other = other.iter().peekable();
    one.iter()
        .filter(|shingle| {
            while other.next_if(|next| next < shingle).is_some() {}
            other.next_if_eq(shingle).is_some()
        })
        .count()
}
