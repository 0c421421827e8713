use mcp_aql::prelude::*;

#[derive(Debug, OperationError)]
enum Fault {
    #[operation_error(code = "NOT_FOUND_RESOURCE")]
    Missing {
        #[operation_error(detail)]
        id: u32,
    },
}

fn main() {
    let _: fn(Fault) -> OperationError = From::from; // must not add a second error
}
