use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Clone, Serialize, JsonSchema)]
struct Task {
    /// Identifier.
    task_id: String,
}

/// List tasks.
#[operation(category = "READ")]
async fn list_tasks(
    State(tasks): State<Vec<Task>>,
    #[query(accept(preset), page_size = 10)] query: CollectionQuery<Task>,
) -> Result<Page<Task>, OperationError> {
    query.run(&tasks)
}

fn main() {
    let _ = Adapter::builder("tasks").operation(list_tasks {}).build();
}
