use mcp_aql::prelude::*;

/// Find a task.
#[operation(category = "READ")]
fn get_task(
    /// Its code.
    #[param(default = "a1", pattern = "^[A-Z]")]
    code: String,
) {
    let _ = code;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
