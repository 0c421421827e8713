//! The interface that clients see.

use clap::ValueEnum;

/// The interface that clients see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Face {
    /// The tool mcp__proxy__aggregator__query
    Plain,
    /// An MCP-AQL adapter: search_servers, list_servers, get_server
    McpAql,
}
