//! The clauses of a question, each with its concepts.

/// Maximum number of clauses. Further ones belong to the last.
const MAX_CLAUSES: usize = 32;

/// Words that begin a clause.
const CONJUNCTIONS: &[&str] = &["and", "then"];

/// Collects the indices of concepts, clause by clause.
#[derive(Debug, Default)]
pub(super) struct Clauses {
    finished: Vec<Vec<usize>>,
    current: Vec<usize>,
}

impl Clauses {
    /// Adds a concept to the current clause.
    pub(super) fn add(&mut self, concept: usize) {
        if !self.current.contains(&concept) {
            self.current.push(concept);
        }
    }

    /// Ends the current clause, if it has a concept.
    pub(super) fn end(&mut self) {
        if !self.current.is_empty() && self.finished.len() < MAX_CLAUSES {
            self.finished.push(std::mem::take(&mut self.current));
        }
    }

    /// Adds a complete clause without ending the current one.
    pub(super) fn add_separately(&mut self, concepts: Vec<usize>) {
        if !self.finished.contains(&concepts) && self.finished.len() < MAX_CLAUSES {
            self.finished.push(concepts);
        }
    }

    pub(super) fn finish(mut self) -> Vec<Vec<usize>> {
        self.end();
        if let Some(last) = self.finished.last_mut() {
            last.append(&mut self.current);
            last.sort_unstable();
            last.dedup();
        }
        self.finished
    }
}

/// Returns `true` if a word without whitespace begins a clause.
pub(super) fn begins_clause(word: &str) -> bool {
    CONJUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns `true` if a word without whitespace ends with a mark that ends a clause.
pub(super) fn ends_clause(word: &str) -> bool {
    let word = word.trim_end_matches(['"', '\'', ')', '’', '”']);
    word.ends_with(['.', '?', '!', ';', ',', ':', '。', '？', '！', '；', '，', '：', '、'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_clauses_belong_to_the_last() {
        let mut clauses = Clauses::default();
        for concept in 0..100 {
            clauses.add(concept);
            clauses.end();
            clauses.end();
        }
        let all = clauses.finish();
        assert_eq!((all.len(), all.concat().len()), (MAX_CLAUSES, 100));
    }

    #[test]
    fn clauses_end_at_marks() {
        assert!(ends_clause("done.\"") && ends_clause("first,") && !ends_clause("first"));
        assert!(begins_clause("Then") && !begins_clause("them"));
    }
}
