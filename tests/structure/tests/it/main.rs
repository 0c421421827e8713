//! Compares documentation pages and manifests with the tests that they mention.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test that cannot go on panics, in its helpers too"
)]

mod book;
mod coverage;
mod test_targets;
