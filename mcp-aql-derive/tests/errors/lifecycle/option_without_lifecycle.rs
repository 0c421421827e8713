use mcp_aql::prelude::*;

/// Export the tasks.
#[operation(category = "EXECUTE", retry)]
async fn export_tasks() {}

fn main() {
    mcp_aql_tests::register(export_tasks {}); // must not add a second error
}
