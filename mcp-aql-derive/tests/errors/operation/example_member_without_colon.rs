use mcp_aql::operation;

/// Get a task.
#[operation(category = "READ", example = { "number" 1 })]
fn get_task(
    /// Its number.
    number: u32,
) {
    let _ = number;
}

fn main() {
    mcp_aql_tests::register(get_task {}); // must not add a second error
}
