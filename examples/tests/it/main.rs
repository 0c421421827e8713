//! Tests of the examples: as processes that speak MCP, and with models of the protocol.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test may panic"
)]

#[cfg(unix)]
mod guard;
mod library;
mod log_secrets;
mod notes;
mod orders;
mod rest_wire;
mod support;
mod tasks_models;
mod tasks_wire;

// The storage and the export of `tasks`, with their unit tests: cargo does not test example targets. Its modules name each other from the
// root of the crate.
#[allow(dead_code, reason = "the program uses all of it")]
#[path = "../../tasks/error.rs"]
mod error;
#[allow(dead_code, reason = "the program uses all of it")]
#[path = "../../tasks/export.rs"]
mod export;
#[allow(dead_code, unused_imports, reason = "the program uses all of it")]
#[path = "../../tasks/model.rs"]
mod model;
#[allow(dead_code, unused_imports, reason = "the program uses all of it")]
#[path = "../../tasks/store/mod.rs"]
mod store;
