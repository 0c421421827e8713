use mcp_aql::OperationError;

#[derive(OperationError)]
enum TaskError {
    #[operation_error(code = "NOT_FOUND_RESOURCE", crate = mcp_aql)]
    Missing(String),
}

fn main() {
    let _ = mcp_aql::Error::from(TaskError::Missing(String::new())); // must not add a second error
}
