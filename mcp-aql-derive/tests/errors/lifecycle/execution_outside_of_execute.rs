use mcp_aql::prelude::*;

/// Export the tasks.
#[operation(category = "READ")]
async fn export_tasks(execution: ExecutionContext) {
    drop(execution);
}

fn main() {
    mcp_aql_tests::register(export_tasks {}); // must not add a second error
}
