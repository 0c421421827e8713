use mcp_aql::prelude::*;

/// Export the tasks.
#[operation(category = "EXECUTE", lifecycle(progress))]
async fn export_tasks(execution: &ExecutionContext) {
    let _ = execution;
}

fn main() {
    mcp_aql_tests::register(export_tasks {}); // must not add a second error
}
