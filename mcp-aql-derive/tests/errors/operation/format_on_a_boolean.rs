use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Whether it is done.
    #[param(format = "date")]
    done: bool,
) {
    let _ = done;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
