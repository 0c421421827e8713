//! Tests of the protocol, requirement by requirement, through `Adapter::call` and `Adapter::handle`.
//!
//! Every test cites the requirements that it covers. `tests/structure/tests/it/coverage.rs` compares these citations
//! with the book's page on spec coverage. If you write a test for a requirement, cite it in the first line of the test.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test that cannot go on panics, in its helpers too"
)]

mod access;
mod audit;
mod batch;
mod blocks;
mod board;
mod classification;
mod concurrency;
mod confirmation_messages;
mod elicitation;
mod encoding;
mod endpoints;
mod errors;
mod examples;
mod executions;
mod gates;
mod introspection;
mod leaks;
mod limits;
mod observers;
mod preview;
mod properties;
mod queries;
mod repair;
mod request;
mod response;
mod safety_loop;
mod session;
mod session_end;
mod shape;
mod store_outage;
mod stored;
mod support;
mod unknown;
mod update;
mod warnings;
mod wrapping;

// Include the example `library` for the tests in `repair`. Its modules refer to each other from the crate root.
#[path = "../../examples/library/error.rs"]
mod error;
#[path = "../../examples/library/model.rs"]
mod model;
#[path = "../../examples/library/operations.rs"]
mod operations;
#[path = "../../examples/library/stock.rs"]
mod stock;
