use mcp_aql::{Resource, computed_fields};
use schemars::JsonSchema;
use serde::Serialize;

/// A task.
#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// Short title.
    title: String,
}

#[computed_fields]
impl Task {
    fn length(&self) -> usize {
        self.title.len()
    }
}

fn main() {
    mcp_aql_tests::computed::<Task>(); // must not add a second error
}
