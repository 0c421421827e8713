use mcp_aql::prelude::*;

#[derive(Debug, OperationError)]
enum Fault {
    #[operation_error(code = "NOT_FOUND_RESOURCE", message = "there is no {id}")]
    Missing { id: u32 },
    #[operation_error(code = "PERMISSION_DENIED", message = "not yours: {0}")]
    Foreign(u32),
}

fn main() {
    let _: fn(Fault) -> OperationError = From::from; // must not add a second error
}
