use mcp_aql::OperationError;

#[derive(Debug, OperationError)]
enum TaskError {
    #[operation_error(code = "RATE_LIMIT_EXCEEDED", message = "Full", details(limit = 9 used = used))]
    Full { used: u32 },
}

fn main() {
    let _ = OperationError::from(TaskError::Full { used: 9 });
}
