//! Scores operations for a question, and chooses hits that cover its clauses.

use super::index::OperationIndex;
use super::names::NameTerms;
use super::question::{Question, QuestionConcept};

/// Weight of a name that the question contains completely.
const NAME_COVERAGE: f64 = 2.0;
/// Weight of an operation that changes something if the question asks for information.
const CHANGE: f64 = 0.5;
/// Weight of the clause that an operation answers best, relative to the whole question.
const CLAUSE: f64 = 2.0;
/// Remaining weight of a clause after each hit that answers it.
const ANSWERED: f64 = 0.5;
/// Weight of the best operation of a group for the others.
const BEST_OF_GROUP: f64 = 0.2;
/// Weight of the mean score of the operations similar to an operation.
const NEIGHBORS: f64 = 0.7;
/// Weight of an operation after each hit with the same name.
const SAME_NAME: f64 = 0.5;
/// Number of candidates considered, in addition to four for each hit.
const CANDIDATES: usize = 64;
/// Scores are rounded to this fraction of 1, so that platforms with different logarithms agree.
const PRECISION: f64 = 10_000.0;

/// A search result.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// Index of the operation, in the order in which the index was built.
    pub operation: usize,
    /// The score, greater than zero. You can only compare it with scores of the same search.
    pub score: f64,
}

/// The score of each operation that expresses a concept.
type ConceptScores = Vec<(usize, f64)>;

/// A possible hit.
struct SearchCandidate<'i> {
    operation: usize,
    name: &'i NameTerms,
    /// Factor by which the score is multiplied.
    weight: f64,
    /// The score for the whole question and for the group.
    base: f64,
    /// The scores for the clauses.
    clauses: Vec<f64>,
}

impl OperationIndex {
    /// Returns at most `first` operations for a question, the best first.
    ///
    /// Equal scores are in the order of the operations. The result is empty if no operation
    /// contains a word of the question. Only the first 4 KiB and the first 128 distinct words of a
    /// question are read.
    ///
    /// ```
    /// use mcp_aql_rank::operations::{OperationDocument, OperationIndex};
    ///
    /// let index = OperationIndex::new(["get_invoice", "send_mail"].map(OperationDocument::new));
    /// let question = "Look up the bill and send it by mail";
    /// let found: Vec<_> = index.search(question, 5).iter().map(|hit| hit.operation).collect();
    /// assert_eq!(found, [1, 0]);
    /// ```
    pub fn search(&self, question: &str, first: usize) -> Vec<SearchHit> {
        self.search_among(question, first, |_| true)
    }

    /// Searches like [`search`](Self::search), but only among the operations that `accepts` returns
    /// `true` for. Use this to leave out operations that the caller is not allowed to see.
    ///
    /// ```
    /// use mcp_aql_rank::operations::{OperationDocument, OperationIndex};
    ///
    /// let index = OperationIndex::new(["get_invoice", "send_mail"].map(OperationDocument::new));
    /// let question = "Look up the bill and send it by mail";
    /// let hits = index.search_among(question, 5, |operation| operation == 0);
    /// assert_eq!(hits.len(), 1);
    /// assert_eq!(hits[0].operation, 0);
    /// ```
    pub fn search_among(
        &self,
        question: &str,
        first: usize,
        accepts: impl Fn(usize) -> bool,
    ) -> Vec<SearchHit> {
        let question = Question::of(question, &self.vocabulary, self.stemmer);
        let mut best = vec![0.0; self.len()];
        let scores: Vec<ConceptScores> =
            question.concepts.iter().map(|concept| self.scores_of(concept, &mut best)).collect();
        let everything: Vec<usize> = (0..question.concepts.len()).collect();
        let mut contained = vec![0.0; self.vocabulary.len()];
        let mut score = |part: &[usize]| self.score(part, &question, &scores, &mut contained);
        let whole = self.with_neighbors(&score(&everything));
        let clauses: Vec<Vec<f64>> = question.clauses.iter().map(|clause| score(clause)).collect();
        choose(self.candidates(&whole, &clauses, first, accepts), clauses.len(), first)
    }

    /// Returns the operations that contain a concept. Each is scored by the alternative with the
    /// highest score. `best` is zero for each operation before and after; it is passed in to be
    /// reused.
    fn scores_of(&self, concept: &QuestionConcept, best: &mut [f64]) -> ConceptScores {
        let mut found = Vec::new();
        for (term, weight) in &concept.alternatives {
            let rarity = self.rarity.get(*term).copied().unwrap_or_default();
            for posting in self.postings.get(*term).into_iter().flatten() {
                let score = concept.weight * weight * rarity * posting.saturated();
                if let Some(best) = best.get_mut(posting.operation) {
                    if *best == 0.0 {
                        found.push(posting.operation);
                    }
                    *best = best.max(score);
                }
            }
        }
        let mut scores = Vec::with_capacity(found.len());
        for operation in found {
            // An operation with a score of zero may have been found twice.
            if let Some(score) =
                best.get_mut(operation).map(std::mem::take).filter(|score| *score > 0.0)
            {
                scores.push((operation, score));
            }
        }
        scores
    }

    /// Returns the score of each operation for a part of the question. An operation with many of
    /// the part's concepts is better than one that scores as much with few. `contained` is zero for
    /// each term before and after.
    fn score(
        &self,
        part: &[usize],
        question: &Question,
        scores: &[ConceptScores],
        contained: &mut [f64],
    ) -> Vec<f64> {
        let concepts = &question.concepts;
        let mut sums = vec![0.0; self.len()];
        for (operation, score) in part.iter().filter_map(|concept| scores.get(*concept)).flatten() {
            if let Some(sum) = sums.get_mut(*operation) {
                *sum += score;
            }
        }
        let alternatives = || {
            part.iter().filter_map(|concept| concepts.get(*concept)).flat_map(|it| &it.alternatives)
        };
        for (term, weight) in alternatives() {
            if let Some(degree) = contained.get_mut(*term) {
                *degree = degree.max(*weight);
            }
        }
        let shares = self.shares(part, concepts, scores);
        for ((sum, name), share) in sums.iter_mut().zip(&self.names).zip(shares) {
            if *sum > 0.0 {
                *sum *= (1.0 + NAME_COVERAGE * name.coverage(contained)) * share.sqrt();
            }
        }
        for (sum, _) in sums.iter_mut().zip(&self.changes).filter(|(_, it)| question.asks && **it) {
            *sum *= CHANGE;
        }
        for (term, _) in alternatives() {
            if let Some(degree) = contained.get_mut(*term) {
                *degree = 0.0;
            }
        }
        sums
    }

    /// Returns the share of a part's concepts that each operation contains, from 0.0 to 1.0.
    fn shares(
        &self,
        part: &[usize],
        concepts: &[QuestionConcept],
        scores: &[ConceptScores],
    ) -> Vec<f64> {
        let mut shares = vec![0.0; self.len()];
        let mut total = 0.0;
        let of_part =
            || part.iter().filter_map(|place| concepts.get(*place).zip(scores.get(*place)));
        for (concept, scores) in of_part() {
            total += concept.weight;
            for (operation, _) in scores {
                if let Some(share) = shares.get_mut(*operation) {
                    *share += concept.weight;
                }
            }
        }
        for share in &mut shares {
            *share /= f64::max(total, f64::MIN_POSITIVE);
        }
        shares
    }

    /// Adds to each score a part of the scores of similar operations. An operation without a score
    /// gets none.
    fn with_neighbors(&self, whole: &[f64]) -> Vec<f64> {
        let both = whole.iter().zip(self.neighbors.means(whole));
        both.map(|(own, mean)| if *own > 0.0 { own + NEIGHBORS * mean } else { 0.0 }).collect()
    }

    /// Returns the evidence for each group: the score of its best operation.
    fn group_scores(&self, whole: &[f64]) -> Vec<f64> {
        let mut evidence = vec![0.0_f64; self.group_count];
        for (group, score) in self.groups.iter().zip(whole) {
            if let Some(best) = evidence.get_mut(*group) {
                *best = best.max(BEST_OF_GROUP * score);
            }
        }
        evidence
    }

    /// Returns the best operations without regard to each other.
    fn candidates(
        &self,
        whole: &[f64],
        clauses: &[Vec<f64>],
        first: usize,
        accepts: impl Fn(usize) -> bool,
    ) -> Vec<SearchCandidate<'_>> {
        let groups = self.group_scores(whole);
        let found = whole.iter().zip(self.groups.iter().zip(&self.names)).enumerate();
        let mut found: Vec<SearchCandidate<'_>> = found
            .filter(|(operation, (whole, _))| **whole > 0.0 && accepts(*operation))
            .map(|(operation, (whole, (group, name)))| SearchCandidate {
                operation,
                name,
                weight: 1.0,
                base: whole + groups.get(*group).copied().unwrap_or_default(),
                clauses: clauses
                    .iter()
                    .filter_map(|clause| clause.get(operation).copied())
                    .collect(),
            })
            .collect();
        let all = vec![1.0; clauses.len()];
        found.sort_by(|one, other| {
            let by_score = other.score(&all).0.total_cmp(&one.score(&all).0);
            by_score.then(one.operation.cmp(&other.operation))
        });
        found.truncate(first.saturating_mul(4).saturating_add(CANDIDATES));
        found
    }
}

impl SearchCandidate<'_> {
    /// Returns the score with the remaining weights of the clauses, and the clause that counts
    /// most.
    fn score(&self, remaining: &[f64]) -> (f64, usize) {
        let mut best = (0.0, 0);
        for (clause, (score, remaining)) in self.clauses.iter().zip(remaining).enumerate() {
            if score * remaining > best.0 {
                best = (score * remaining, clause);
            }
        }
        let score = self.weight * (self.base + CLAUSE * best.0);
        ((score * PRECISION).round() / PRECISION, best.1)
    }
}

/// Chooses hits one after the other. Each reduces the weight of the clause that it answers, and the
/// scores of operations with the same name.
fn choose(
    mut candidates: Vec<SearchCandidate<'_>>,
    clause_count: usize,
    first: usize,
) -> Vec<SearchHit> {
    let mut remaining = vec![1.0; clause_count];
    let mut hits = Vec::new();
    while hits.len() < first {
        let mut best: Option<(usize, usize, f64, usize)> = None;
        for (place, candidate) in candidates.iter().enumerate() {
            let (score, clause) = candidate.score(&remaining);
            let is_better = best.is_none_or(|(_, operation, highest, _)| {
                score > highest || score == highest && candidate.operation < operation
            });
            if is_better {
                best = Some((place, candidate.operation, score, clause));
            }
        }
        let Some((place, operation, score, clause)) = best.filter(|(_, _, score, _)| *score > 0.0)
        else {
            break;
        };
        let hit = candidates.swap_remove(place);
        for candidate in candidates.iter_mut().filter(|it| it.name.equals(hit.name)) {
            candidate.weight *= SAME_NAME;
        }
        if let Some(weight) = remaining.get_mut(clause) {
            *weight *= ANSWERED;
        }
        hits.push(SearchHit { operation, score });
    }
    hits
}
