use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its labels.
    labels: &[String],
) {
    let _ = labels;
}

fn main() {}
