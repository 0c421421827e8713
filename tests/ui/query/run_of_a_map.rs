use std::collections::BTreeMap;

use mcp_aql::prelude::*;
use mcp_aql_tests::Task;

/// List tasks.
#[operation(category = "READ")]
fn list_tasks(
    State(tasks): State<std::sync::Arc<BTreeMap<String, Task>>>,
    query: CollectionQuery<Task>,
) -> Result<Page<Task>, OperationError> {
    query.run(&*tasks)
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
