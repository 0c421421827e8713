//! The command line and the reference pages of an adapter.
//!
//! Authors of adapters use this crate as `mcp_aql::cli` and `mcp_aql::docs`, with the feature `cli` of
//! `mcp-aql`.

pub mod command;
pub mod docs;
