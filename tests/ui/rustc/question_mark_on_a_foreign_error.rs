use mcp_aql::prelude::*;

/// Read a file.
#[operation(category = "READ")]
fn get_file() -> Result<String, OperationError> {
    let text = std::fs::read_to_string("tasks.txt")?;
    Ok(text)
}

fn main() {
    mcp_aql_tests::register(get_file {}); // must not add a second error
}
