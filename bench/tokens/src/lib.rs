//! Counts tokens for `mcp-aql-bench`. A separate package keeps the tokenizer's dependencies out of the measured
//! programs.
