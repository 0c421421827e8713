use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Find a task.
#[operation(category = "READ")]
fn introspect() {}

fn main() {
    register(introspect {});
}
