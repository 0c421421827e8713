use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    params: String,
) {
    let _ = params;
}

fn main() {}
