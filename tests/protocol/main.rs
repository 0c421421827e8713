//! Tests of the protocol, requirement by requirement, through `Adapter::call` and `Adapter::handle`.
//!
//! Every test cites the requirements that it shows. `tests/coverage.rs` compares the citations with the book's page on
//! spec coverage.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on panics, in its helpers too"
)]

mod access;
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
