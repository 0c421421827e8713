//! The programs of the examples, and clients that drive them.

pub(crate) mod client;
pub(crate) mod mcp;
pub(crate) mod program;
