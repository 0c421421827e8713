//! One query over many MCP servers, one ranked answer.

pub mod rank;
mod text;
