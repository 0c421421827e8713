//! Reads the content of each result once into a document with its matches and its sketch.

use std::panic::resume_unwind;
use std::thread;

use rustc_hash::FxHashMap;

use crate::text::{Word, WordKind, mix, scan};

use super::query::{Known, Term, Terms};
use super::shingles::Shingles;
use super::{Candidate, RankOptions};

/// Number of bytes that justify another thread.
const BYTES_PER_THREAD: usize = 96 * 1024;
/// Maximum number of threads, so that other work has processors left.
const MAX_THREADS: usize = 4;
/// Maximum number of documents with the same words to compare character by character.
const MAX_COMPARED: usize = 8;

/// An occurrence of a query word in a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) term: Term,
    /// Position of the word in the document.
    pub(super) at: u32,
}

/// A call to a server: the indices of the server and the call.
pub(super) type Call = (usize, usize);

/// The content of one or more identical candidates.
#[derive(Debug)]
pub(super) struct Document<'a> {
    /// Index of the candidate.
    pub(super) candidate: usize,
    pub(super) server: usize,
    pub(super) call: usize,
    /// Position in that server's results.
    pub(super) position: usize,
    pub(super) weight: f64,
    pub(super) content: &'a str,
    /// Other candidates with the same content.
    pub(super) twins: Vec<usize>,
    /// Length in words.
    pub(super) length: u32,
    /// Some of the shingles, sorted.
    pub(super) sketch: Vec<u64>,
    /// Twice the number of words. In scripts without spaces, the number of character pairs.
    halves: u32,
    matches: std::ops::Range<usize>,
}

/// All documents of a ranking.
pub(super) struct Pool<'a> {
    /// The documents in an order that does not depend on their arrival.
    pub(super) documents: Vec<Document<'a>>,
    matches: Vec<Match>,
    /// The call of each candidate.
    calls: Vec<Call>,
}

impl<'a> Pool<'a> {
    pub(super) fn read(terms: &Terms, candidates: &[Candidate<'a>], options: &RankOptions) -> Self {
        let mut order: Vec<(usize, &Candidate<'a>)> = candidates.iter().enumerate().collect();
        order.sort_by_key(|(_, it)| (it.server, it.call, it.position, it.content));
        let mut pool = Self {
            documents: Vec::with_capacity(order.len()),
            matches: Vec::new(),
            calls: candidates.iter().map(|it| (it.server, it.call)).collect(),
        };
        let texts: Vec<&str> = order.iter().map(|(_, it)| it.content).collect();
        let parts = TextBatch::read(terms, &texts);
        // Documents that have the same words and differ in other characters, by the key of the words.
        let mut seen: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        let mut order = order.into_iter();
        for part in parts {
            for (reading, (candidate, it)) in part.all.into_iter().zip(&mut order) {
                let start = pool.matches.len();
                let matches = part.matches.get(reading.matches).unwrap_or_default();
                pool.matches.extend_from_slice(matches);
                let document = Document {
                    candidate,
                    server: it.server,
                    call: it.call,
                    position: it.position,
                    weight: options.weight(it.server),
                    content: it.content,
                    twins: Vec::new(),
                    length: reading.length,
                    sketch: reading.sketch,
                    halves: reading.halves,
                    matches: start..pool.matches.len(),
                };
                let same = seen.entry(reading.key).or_default();
                let twin = same.iter().find(|twin| {
                    pool.documents.get(**twin).is_some_and(|twin| is_same(twin.content, it.content))
                });
                match twin.and_then(|twin| pool.documents.get_mut(*twin)) {
                    Some(twin) => {
                        pool.matches.truncate(document.matches.start);
                        twin.join(document);
                    }
                    None => {
                        if same.len() < MAX_COMPARED {
                            same.push(pool.documents.len());
                        }
                        pool.documents.push(document);
                    }
                }
            }
        }
        pool
    }

    pub(super) fn matches(&self, document: &Document<'_>) -> &[Match] {
        self.matches.get(document.matches.clone()).unwrap_or_default()
    }

    /// Returns the calls that returned a document.
    pub(super) fn calls(&self, document: &Document<'_>) -> impl Iterator<Item = Call> {
        let candidates = std::iter::once(&document.candidate).chain(&document.twins);
        candidates.filter_map(|candidate| self.call(*candidate))
    }

    /// Returns the call that returned a candidate.
    pub(super) fn call(&self, candidate: usize) -> Option<Call> {
        self.calls.get(candidate).copied()
    }
}

/// The data read from one result, independent of all others.
struct TextData {
    /// Length in words.
    length: u32,
    halves: u32,
    /// A hash of the words. Results with the same words have the same key.
    key: u64,
    sketch: Vec<u64>,
    matches: std::ops::Range<usize>,
}

/// The data read from consecutive results.
struct TextBatch {
    all: Vec<TextData>,
    matches: Vec<Match>,
}

impl TextBatch {
    /// Reads texts, many of them on several threads.
    fn read(terms: &Terms, texts: &[&str]) -> Vec<Self> {
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = (bytes / BYTES_PER_THREAD).min(processors).clamp(1, MAX_THREADS);
        if threads == 1 {
            return vec![Self::of(terms, texts)];
        }
        thread::scope(|scope| {
            let parts: Vec<_> = texts
                .chunks(texts.len().div_ceil(threads))
                .map(|part| scope.spawn(move || Self::of(terms, part)))
                .collect();
            let done = parts.into_iter().map(thread::ScopedJoinHandle::join);
            done.map(|part| part.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    }

    fn of(terms: &Terms, texts: &[&str]) -> Self {
        let mut known = Known::default();
        let mut shingles = Shingles::default();
        let mut readings = Self { all: Vec::with_capacity(texts.len()), matches: Vec::new() };
        for text in texts {
            let start = readings.matches.len();
            let (mut length, mut halves, mut key) = (0_u32, 0_u32, 0_u64);
            scan(text, &mut |word: Word<'_>| {
                if let Some(term) = terms.find(word, &mut known) {
                    readings.matches.push(Match { term, at: length });
                }
                length += u32::from(word.kind.has_length());
                if word.kind.identifies_copies() {
                    halves += if word.kind == WordKind::Pair { 1 } else { 2 };
                    key = mix(key ^ word.key);
                    shingles.add(word.key);
                }
            });
            let (sketch, matches) = (shingles.take_sketch(), start..readings.matches.len());
            readings.all.push(TextData { length, halves, key, sketch, matches });
        }
        readings
    }
}

impl Document<'_> {
    /// Returns the length in words. In scripts without spaces, about two characters count as a
    /// word.
    pub(super) fn words(&self) -> u32 {
        self.halves / 2
    }

    /// Merges an identical document. The one with the higher weight or better position represents
    /// both.
    fn join(&mut self, other: Self) {
        let better = other.weight > self.weight
            || other.weight == self.weight && other.position < self.position;
        if better {
            self.twins.push(std::mem::replace(&mut self.candidate, other.candidate));
            (self.server, self.call) = (other.server, other.call);
            (self.position, self.weight) = (other.position, other.weight);
        } else {
            self.twins.push(other.candidate);
        }
    }
}

/// Returns `true` if two strings are equal except for case, whitespace and emphasis.
fn is_same(one: &str, other: &str) -> bool {
    one == other || squeezed(one).eq(squeezed(other))
}

/// Returns the characters of a string without whitespace, case and emphasis marks.
fn squeezed(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '*' | '_' | '`'))
        .flat_map(char::to_lowercase)
}
