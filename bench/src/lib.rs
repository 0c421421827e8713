//! Measures mcp-aql: against plain rmcp and json-patch (`cargo bench -p mcp-aql-bench`), with gates (`--features gates
//! --bench gates`), with queries (`--features queries --bench queries`), and in tokens (`mcp-aql-tokens`).
//!
//! mcp-aql and its peer take turns, round by round, in one run on one machine. The result is the ratio of their
//! medians, because absolute times of other machines or runs cannot be compared. Every reply is checked. A wrong reply
//! ends the run.

mod chart;
mod measure;
mod server;
mod stream_client;

pub mod command;
#[cfg(feature = "gates")]
pub mod gates;
pub mod places;
#[cfg(feature = "queries")]
pub mod queries;
pub mod random;
pub mod records;
pub mod rows;
pub mod table;
#[cfg(all(feature = "tokens", not(test)))]
pub mod tokens;

// The example `tasks`, whose modules name each other from the root of the crate. Its own tests run there.
#[cfg(all(feature = "tokens", not(test)))]
#[path = "../../examples/tasks/error.rs"]
mod error;
#[cfg(all(feature = "tokens", not(test)))]
#[path = "../../examples/tasks/export.rs"]
mod export;
#[cfg(all(feature = "tokens", not(test)))]
#[path = "../../examples/tasks/model.rs"]
mod model;
#[cfg(all(feature = "tokens", not(test)))]
#[path = "../../examples/tasks/operations.rs"]
mod operations;
#[cfg(all(feature = "tokens", not(test)))]
#[path = "../../examples/tasks/store/mod.rs"]
#[expect(dead_code, reason = "the cursors have a fixed key instead of the stored one")]
mod store;

pub use measure::{Scale, Turns, in_turns, nanos_each, nanos_each_async};
pub use server::Programs;

/// An error that ends a run.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// The result of a fallible step of a run.
pub type Result<T = ()> = std::result::Result<T, Error>;
