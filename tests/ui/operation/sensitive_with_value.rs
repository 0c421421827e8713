use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its key.
    #[param(sensitive = true)]
    key: String,
) {
    let _ = key;
}

fn main() {}
