use mcp_aql::prelude::*;

struct Tasks;

impl Tasks {
    /// Find a task.
    #[operation(category = "READ")]
    fn get_task(&self) {}
}

fn main() {
    Tasks.get_task();
}
