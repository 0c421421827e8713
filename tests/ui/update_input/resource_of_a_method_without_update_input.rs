use mcp_aql::prelude::*;
use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Task {
    /// Short title.
    title: String,
}

struct Tasks<T>(T);

#[operations]
impl<T: Send + Sync + 'static> Tasks<T> {
    /// Change a task.
    #[operation(category = "UPDATE")]
    async fn update_task(
        &self,
        /// Which one.
        task_id: String,
        input: Update<Task>,
    ) -> Task {
        let mut task = Task { title: task_id };
        if !input.changed_paths().is_empty() {
            input.clone().merge_into(&mut task);
        }
        task
    }
}

fn main() {
    mcp_aql_tests::register_all(Tasks(7)); // must not add a second error
}
