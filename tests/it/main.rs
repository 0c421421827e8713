//! Tests of the macros, except for compile errors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test that cannot go on panics, in its helpers too"
)]

mod hygiene;
mod macros;
mod pass;
mod query_macros;
