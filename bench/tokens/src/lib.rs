//! Counts tokens for `mcp-aql-bench`, in a package of its own: what the counter brings along would
//! otherwise be built into the programs that are measured.
