//! Tests the service as its callers see it: isolation of tenants, scopes, conformance, and the loss of a process.
//!
//! To include PostgreSQL, start a server for the command:
//!
//! ```console
//! $ ../../scripts/postgres.sh cargo test
//! ```

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod conformance;
mod crash;
mod elicitation;
mod scopes;
mod service;
mod telemetry;
mod tenants;
