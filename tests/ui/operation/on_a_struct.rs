use mcp_aql::prelude::*;

/// A task.
#[operation(category = "READ")]
struct Task;

fn main() {
    let _ = Task;
}
