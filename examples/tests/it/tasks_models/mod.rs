//! Compares `tasks` with independent models of the protocol, over standard input and output.
//!
//! Each file contains a small model, written from the specification without code of the runtime, a generator of random
//! requests, and a test that compares each reply with the model. Every failure prints the seed and the case. You can
//! run another seed:
//!
//! ```console
//! $ MODEL_SEED=7 cargo test -p mcp-aql-examples tasks_models
//! ```

mod batches;
mod filters;
mod merges;
mod pages;
mod queries;
mod random;
mod relationships;
mod tasks;

/// Number of cases in all of these tests.
const CASES: usize =
    queries::CASES + pages::CASES + merges::CASES + relationships::CASES + batches::CASES;

const _: () = assert!(CASES >= 20_000, "the models are compared in at least 20,000 cases");
