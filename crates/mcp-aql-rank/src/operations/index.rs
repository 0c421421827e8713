//! The index of operations.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::text::Stemmer;

use super::OperationDocument;
use super::fields::{FIELD_COUNT, FIELD_WEIGHTS, stems_of};
use super::names::NameTerms;
use super::neighbors::Neighbors;
use super::synonyms::is_changing_verb;
use super::vocabulary::{Posting, TermId, Vocabulary};

/// Maximum influence of the number of groups with a word on its rarity. The rest is the influence
/// of the number of operations.
const MAX_GROUP_RARITY: f64 = 0.85;
/// Number of groups at which they have half of that influence.
const HALF_INFLUENCE_GROUPS: f64 = 10.0;

/// An index of operations. Build it once and search it often.
///
/// Its size is proportional to that of the documents. See the [module](super) for an example.
#[derive(Clone)]
pub struct OperationIndex {
    pub(super) vocabulary: Vocabulary,
    /// For each term, the operations that contain it, in their order.
    pub(super) postings: Vec<Vec<Posting>>,
    /// The rarity of each term.
    pub(super) rarity: Vec<f64>,
    pub(super) names: Vec<NameTerms>,
    pub(super) neighbors: Neighbors,
    /// For each operation, `true` if it changes something according to the first word of its name.
    pub(super) changes: Vec<bool>,
    /// The group of each operation.
    pub(super) groups: Vec<usize>,
    pub(super) group_count: usize,
    pub(super) stemmer: Stemmer,
}

impl std::fmt::Debug for OperationIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OperationIndex")
            .field("operations", &self.len())
            .field("terms", &self.vocabulary.len())
            .finish_non_exhaustive()
    }
}

/// The stems of the name, and the terms of each field.
struct OperationTerms {
    name: Vec<String>,
    fields: [Vec<TermId>; FIELD_COUNT],
}

impl OperationIndex {
    /// Builds an index. Operations are numbered in the given order, from 0. If your operations
    /// change, build a new index.
    ///
    /// Scores do not depend on the order of the operations.
    pub fn new<'a>(documents: impl IntoIterator<Item = OperationDocument<'a>>) -> Self {
        let stemmer = Stemmer::english();
        let mut vocabulary = Vocabulary::default();
        let mut labels: HashMap<String, usize> = HashMap::new();
        let (mut groups, mut all) = (Vec::new(), Vec::new());
        for document in documents {
            let next = labels.len();
            groups.push(*labels.entry(document.group.to_owned()).or_insert(next));
            let stems = stems_of(&document, stemmer);
            let fields = stems
                .each_ref()
                .map(|field| field.iter().map(|stem| vocabulary.intern(stem)).collect());
            let [name, ..] = stems;
            all.push(OperationTerms { name, fields });
        }
        let postings = postings(&all, vocabulary.len());
        let rarity = rarity(&postings, &groups, labels.len());
        let names = all
            .iter()
            .map(|OperationTerms { name, fields: [terms, label, ..] }| {
                NameTerms::new(name, terms, label, &rarity)
            })
            .collect();
        let terms = postings.iter().map(Vec::as_slice).zip(rarity.iter().copied());
        let neighbors = Neighbors::new(terms, groups.len());
        let changes = all
            .iter()
            .map(|terms| terms.name.first().is_some_and(|stem| is_changing_verb(stem)))
            .collect();
        Self {
            vocabulary,
            postings,
            rarity,
            names,
            neighbors,
            changes,
            groups,
            group_count: labels.len(),
            stemmer,
        }
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns `true` if the index contains no operation.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

/// Returns the operations with each term.
fn postings(all: &[OperationTerms], term_count: usize) -> Vec<Vec<Posting>> {
    let mut words = [0_usize; FIELD_COUNT];
    for operation in all {
        for (sum, field) in words.iter_mut().zip(&operation.fields) {
            *sum += field.len();
        }
    }
    let mut postings = vec![Vec::new(); term_count];
    for (operation, terms) in all.iter().enumerate() {
        let mut frequencies: BTreeMap<TermId, f64> = BTreeMap::new();
        for ((field, weights), words) in terms.fields.iter().zip(&FIELD_WEIGHTS).zip(words) {
            let relative = field.len() as f64 * all.len() as f64 / words.max(1) as f64;
            let length = 1.0 - weights.length + weights.length * relative;
            for term in field {
                *frequencies.entry(*term).or_insert(0.0) += weights.weight / length;
            }
        }
        for (term, frequency) in frequencies {
            if let Some(list) = postings.get_mut(term) {
                list.push(Posting { operation, frequency });
            }
        }
    }
    postings
}

/// Returns the rarity of each term.
///
/// A word contained in all operations of one server is common among operations, but it identifies
/// the server. So the number of groups counts as well, and more if there are many groups.
fn rarity(postings: &[Vec<Posting>], groups: &[usize], group_count: usize) -> Vec<f64> {
    let of_groups = group_count as f64;
    let influence = MAX_GROUP_RARITY * of_groups / (of_groups + HALF_INFLUENCE_GROUPS);
    let rarity = |all: f64, with: f64| (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
    let of_term = |list: &Vec<Posting>| {
        let with: BTreeSet<_> = list.iter().filter_map(|it| groups.get(it.operation)).collect();
        let among_operations = rarity(groups.len() as f64, list.len() as f64);
        (1.0 - influence) * among_operations + influence * rarity(of_groups, with.len() as f64)
    };
    postings.iter().map(of_term).collect()
}
