//! The examples as programs with all features of `mcp-aql`, for tests and scripts. Run one with `cargo run -p tasks`.
