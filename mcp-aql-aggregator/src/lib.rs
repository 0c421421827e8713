//! One query over many MCP servers, one ranked answer.
