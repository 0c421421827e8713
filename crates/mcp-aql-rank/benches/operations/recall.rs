//! Measures the share of a collection's labels found by the search.

use mcp_aql_rank::operations::OperationIndex;

use super::collection::{Collection, Question};

/// Numbers of hits for which the recall is measured.
const DEPTHS: [usize; 3] = [1, 3, 5];

/// Counts of found labels and of all labels, over some questions.
#[derive(Default, Clone, Copy)]
struct Sum {
    by_question: usize,
    by_step: usize,
    /// Number of labels that the question can find with this number of hits.
    reachable: usize,
    labels: usize,
}

/// Prints the recall of all questions, and of those with even and odd numbers. Weights chosen on
/// one half can be checked with the other.
pub(crate) fn print(collection: &Collection) {
    let index = OperationIndex::new(collection.documents());
    let names = collection.names();
    println!("{} operations, {} questions", index.len(), collection.questions.len());
    println!("recall      by question   by step   ceiling by question");
    for depth in DEPTHS {
        let mut halves = [Sum::default(); 2];
        for (number, question) in collection.questions.iter().enumerate() {
            if let Some(half) = halves.get_mut(number % 2) {
                half.add(question, &names, &index, depth);
            }
        }
        let [even, odd] = halves;
        even.plus(odd).print("all", depth);
        even.print("even", depth);
        odd.print("odd", depth);
    }
}

impl Sum {
    fn add(&mut self, question: &Question, names: &[&str], index: &OperationIndex, depth: usize) {
        let found = |text: &str| -> Vec<&str> {
            let hits = index.search(text, depth);
            hits.iter().filter_map(|hit| names.get(hit.operation).copied()).collect()
        };
        let by_question = found(&question.question);
        let by_step: Vec<&str> = question.steps.iter().flat_map(|step| found(step)).collect();
        let count = |found: &[&str]| {
            question.tools.iter().filter(|label| found.contains(&label.as_str())).count()
        };
        self.by_question += count(&by_question);
        self.by_step += count(&by_step);
        self.reachable += question.tools.len().min(depth);
        self.labels += question.tools.len();
    }

    fn plus(self, other: Self) -> Self {
        Self {
            by_question: self.by_question + other.by_question,
            by_step: self.by_step + other.by_step,
            reachable: self.reachable + other.reachable,
            labels: self.labels + other.labels,
        }
    }

    fn print(self, questions: &str, depth: usize) {
        let share = |found: usize| found as f64 / self.labels.max(1) as f64;
        println!(
            "{questions:>4} @{depth} {:>16.3} {:>9.3} {:>21.3}",
            share(self.by_question),
            share(self.by_step),
            share(self.reachable)
        );
    }
}
