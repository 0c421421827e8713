use mcp_aql::OperationError;

#[derive(OperationError)]
enum TaskError {
    #[operation_error(code = "NOT_FOUND_RESOURCE", message = "Gone")]
    Gone,
    Broken,
}

fn main() {
    let _ = OperationError::from(TaskError::Gone);
}
