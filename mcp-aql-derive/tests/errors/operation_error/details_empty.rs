use mcp_aql::prelude::*;
use mcp_aql_tests::register;

#[derive(Debug, OperationError)]
enum TaskError {
    #[operation_error(code = "NOT_FOUND_RESOURCE", message = "Gone", details())]
    Missing,
}

/// Find a task.
#[operation(category = "READ")]
fn get_task() -> Result<String, TaskError> {
    Ok(String::new())
}

fn main() {
    register(get_task {});
}
