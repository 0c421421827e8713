//! Starts the programs of the examples and drives them as a client.

pub(crate) mod client;
pub(crate) mod mcp;
pub(crate) mod program;
