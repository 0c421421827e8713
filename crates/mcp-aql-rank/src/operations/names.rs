//! Computes how completely a question contains the name of an operation.

use crate::text::is_asking_word;

use super::synonyms::is_common_verb;
use super::vocabulary::TermId;

/// Weight of a name's word that the group's label contains as well.
const IN_LABEL: f64 = 0.5;
/// Weight of a verb at the beginning of most names.
const COMMON_VERB: f64 = 0.3;

/// The distinct words of a name, each with its share of the name.
#[derive(Debug, Clone)]
pub(super) struct NameTerms(Vec<(TermId, f64)>);

impl NameTerms {
    pub(super) fn new(
        stems: &[String],
        terms: &[TermId],
        label: &[TermId],
        rarity: &[f64],
    ) -> Self {
        let mut found: Vec<(TermId, f64)> = Vec::new();
        for (stem, term) in stems.iter().zip(terms) {
            let kind = if label.contains(term) {
                IN_LABEL
            } else if is_common_verb(stem) || is_asking_word(stem) {
                COMMON_VERB
            } else {
                1.0
            };
            if !found.iter().any(|(known, _)| known == term) {
                found.push((*term, kind * rarity.get(*term).copied().unwrap_or_default()));
            }
        }
        let total: f64 = found.iter().map(|(_, weight)| weight).sum();
        for (_, weight) in &mut found {
            *weight /= total.max(f64::MIN_POSITIVE);
        }
        Self(found)
    }

    /// Returns `true` if both names have the same words.
    pub(super) fn equals(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().all(|(term, _)| other.0.iter().any(|(known, _)| known == term))
    }

    /// Returns the share of the name that a question contains, from 0.0 to 1.0. For each term,
    /// `contained` has the degree to which the question contains it.
    pub(super) fn coverage(&self, contained: &[f64]) -> f64 {
        let share = |(term, weight): &(TermId, f64)| {
            weight * contained.get(*term).copied().unwrap_or_default()
        };
        self.0.iter().map(share).sum()
    }
}
