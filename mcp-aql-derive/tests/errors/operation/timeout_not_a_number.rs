use mcp_aql::prelude::*;

/// Return the number of notes.
#[operation(category = "READ", timeout_seconds = "5")]
fn count_notes() -> u64 {
    0
}

fn main() {}
