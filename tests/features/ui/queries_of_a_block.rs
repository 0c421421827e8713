use mcp_aql::prelude::*;
use serde::Serialize;

/// A task.
#[derive(Clone, Serialize, JsonSchema)]
struct Task {
    /// Identifier.
    task_id: String,
}

struct Tasks(Vec<Task>);

#[operations]
impl Tasks {
    /// Get a task.
    #[operation(category = "READ")]
    fn get_task(&self, #[query(accept(preset))] fields: Fields<Task>) -> Result<Task, OperationError> {
        fields.select(self.0.first())
    }

    /// Follow relationships.
    #[operation(category = "READ")]
    async fn query_relationships(
        &self,
        query: RelationshipQuery<Task>,
    ) -> Result<RelationshipGraph, OperationError> {
        query.run(self).await
    }

    /// Count the tasks.
    #[operation(category = "READ")]
    fn count_tasks(&self) -> usize {
        self.0.len()
    }
}

fn main() {
    let _ = Adapter::builder("tasks").operations(Tasks(Vec::new())).build();
}
