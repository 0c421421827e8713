use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// When it is due.
    #[param(default = "2031-02-30", format = "date")]
    due: String,
) {
    let _ = due;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
