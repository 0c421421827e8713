//! Measures mcp-aql beside plain rmcp and json-patch: `cargo bench -p mcp-aql-bench`.

pub mod records;
