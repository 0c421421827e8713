use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Task {
    /// Short title.
    title: String,
}

/// Change a task.
#[operation(category = "UPDATE")]
fn update_task(
    /// Which one.
    task_id: String,
    input: Update<Task>,
) -> Task {
    let mut task = Task { title: task_id };
    input.merge_into(&mut task);
    task
}

fn main() {
    mcp_aql_tests::register(update_task {}); // must not add a second error
}
