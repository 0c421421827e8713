//! Independent models of the protocol, compared with `tasks` over standard input and output.
//!
//! Each file holds a small model, written from the specification without code of the runtime, a generator of
//! random requests, and a test that sends the requests and compares every reply with the model. The
//! generators are seeded: `MODEL_SEED` selects another seed, and every failure prints the seed and the case.

mod batches;
mod filters;
mod merges;
mod pages;
mod queries;
mod random;
mod relationships;
mod tasks;

/// The cases of all tests of this binary together.
const CASES: usize =
    queries::CASES + pages::CASES + merges::CASES + relationships::CASES + batches::CASES;

const _: () = assert!(CASES >= 20_000, "the models are compared in at least 20,000 cases");
