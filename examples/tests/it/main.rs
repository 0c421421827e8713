//! Tests of the examples: end to end as processes that speak MCP, and against models of the protocol.

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

// Cargo does not run the unit tests of example targets. Therefore the storage and the export of `tasks` are included
// here. Their modules refer to each other from the crate root.
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
