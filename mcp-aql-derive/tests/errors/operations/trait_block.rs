use mcp_aql::prelude::*;

struct Tasks;

trait Find {
    fn get_task(&self);
}

#[operations]
impl Find for Tasks {
    /// Find a task.
    #[operation(category = "READ")]
    fn get_task(&self) {}
}

fn main() {
    Tasks.get_task();
}
