use mcp_aql::prelude::*;

/// Import the customers of a file.
#[operation(category = "EXECUTE", lifecycle(cancel))]
async fn import_customers(
    /// The file.
    file: String,
) -> usize {
    file.len()
}

fn main() {}
