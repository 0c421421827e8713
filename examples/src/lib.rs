//! Builds the examples with all features of `mcp-aql`, for tests and scripts. To run one, use `cargo run -p tasks`.
