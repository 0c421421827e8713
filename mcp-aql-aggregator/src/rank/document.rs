//! The texts, each read once.

use rustc_hash::FxHashMap;

use crate::text::{Word, mix, scan};

use super::query::{Known, Term, Terms};
use super::sketch::{Sketch, Sketcher};
use super::{Candidate, RankOptions};

/// Texts with fewer words are the same only when their signs are: `C#` is not `C++`.
const FEW_WORDS: u32 = 12;

/// A word of the query, where a text has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Match {
    pub(super) term: Term,
    /// Which word of the text.
    pub(super) at: u32,
}

/// What one or several candidates say word for word.
#[derive(Debug)]
pub(super) struct Document<'a> {
    /// Its place among the candidates.
    pub(super) candidate: usize,
    pub(super) server: usize,
    pub(super) call: usize,
    /// The best place that a server gave it.
    pub(super) position: usize,
    pub(super) weight: f64,
    pub(super) content: &'a str,
    /// Other candidates that say it.
    pub(super) twins: Vec<usize>,
    /// In words.
    pub(super) length: u32,
    pub(super) sketch: Sketch,
    matches: std::ops::Range<usize>,
}

/// All texts that there are.
pub(super) struct Pool<'a> {
    /// In an order that does not depend on which came first.
    pub(super) documents: Vec<Document<'a>>,
    matches: Vec<Match>,
}

impl<'a> Pool<'a> {
    pub(super) fn read(terms: &Terms, candidates: &[Candidate<'a>], options: &RankOptions) -> Self {
        let mut order: Vec<(usize, &Candidate<'a>)> = candidates.iter().enumerate().collect();
        order.sort_by_key(|(_, it)| (it.server, it.call, it.position, it.content));
        let mut pool = Self { documents: Vec::with_capacity(order.len()), matches: Vec::new() };
        let mut known = Known::default();
        let mut seen: FxHashMap<u64, usize> = FxHashMap::default();
        for (candidate, it) in order {
            let weight = options.weight(it.server);
            let (document, key) = pool.document(terms, &mut known, candidate, it, weight);
            let twin = seen.get(&key).copied();
            let twin = twin.and_then(|twin| pool.documents.get_mut(twin));
            match twin.filter(|twin| same_words(twin.content, it.content)) {
                Some(twin) => {
                    pool.matches.truncate(document.matches.start);
                    twin.join(document);
                }
                None => {
                    seen.entry(key).or_insert(pool.documents.len());
                    pool.documents.push(document);
                }
            }
        }
        pool
    }

    pub(super) fn matches(&self, document: &Document<'_>) -> &[Match] {
        self.matches.get(document.matches.clone()).unwrap_or_default()
    }

    fn document(
        &mut self,
        terms: &Terms,
        known: &mut Known,
        candidate: usize,
        it: &Candidate<'a>,
        weight: f64,
    ) -> (Document<'a>, u64) {
        let start = self.matches.len();
        let (mut length, mut words, mut key) = (0_u32, 0_u32, 0_u64);
        let mut sketcher = Sketcher::default();
        scan(it.content, &mut |word: Word<'_>| {
            if let Some(term) = terms.find(word, known) {
                self.matches.push(Match { term, at: length });
            }
            length += u32::from(word.kind.has_length());
            if word.kind.tells_copies() {
                words += 1;
                key = mix(key ^ word.key);
                sketcher.add(word.key);
            }
        });
        if words < FEW_WORDS {
            key = squeezed(it.content).fold(1, |key, c| mix(key ^ u64::from(c)));
        }
        let Candidate { server, call, position, content } = *it;
        let matches = start..self.matches.len();
        let (twins, sketch) = (Vec::new(), sketcher.finish());
        let document = Document {
            candidate,
            server,
            call,
            position,
            weight,
            content,
            twins,
            length,
            sketch,
            matches,
        };
        (document, key)
    }
}

impl Document<'_> {
    /// Takes in one that says the same; the one of the two that counts more stands for both.
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

/// Whether two texts with one key are the same, but for case, spaces and how they are set.
fn same_words(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let words = |text| {
        let mut keys = Vec::new();
        scan(text, &mut |word: Word<'_>| {
            if word.kind.tells_copies() {
                keys.push(word.key);
            }
        });
        keys
    };
    let words = (words(one), words(other));
    words.0 == words.1 && (words.0.len() >= FEW_WORDS as usize || squeezed(one).eq(squeezed(other)))
}

/// All that is written, without spaces, case and the signs of emphasis.
fn squeezed(text: &str) -> impl Iterator<Item = char> {
    text.chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '*' | '_' | '`'))
        .flat_map(char::to_lowercase)
}
