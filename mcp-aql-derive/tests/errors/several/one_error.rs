use mcp_aql::prelude::*;

#[derive(Debug, OperationError)]
enum TaskError {
    #[operation_error(code = "NOT_FOUND")]
    Missing,
    #[operation_error(message = "No")]
    Refused,
    #[operation_error(transparent)]
    Other,
}

fn main() {}
