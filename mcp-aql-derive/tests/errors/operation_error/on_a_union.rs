use mcp_aql::prelude::*;

#[derive(OperationError)]
union TaskError {
    code: u8,
}

fn main() {}
