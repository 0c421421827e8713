use mcp_aql::prelude::*;

/// Return the number of notes.
#[operation(category = "READ", scope = "")]
fn count_notes() -> u64 {
    0
}

fn main() {}
