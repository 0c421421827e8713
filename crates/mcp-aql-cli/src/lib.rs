//! The command line and the reference pages of an adapter.
//!
//! If you write an adapter, use this crate as `mcp_aql::cli` and `mcp_aql::docs`, with the feature `cli` of `mcp-aql`.

pub mod command;
pub mod docs;
