use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Count the seeds.
#[operation(category = "READ")]
fn count_seeds() -> Result<Option<u128>, OperationError> {
    Ok(Some(7))
}

fn main() {
    register(count_seeds {});
}
