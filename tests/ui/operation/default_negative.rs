use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its number.
    #[param(default = -1)]
    number: u32,
) {
    let _ = number;
}

fn main() {}
