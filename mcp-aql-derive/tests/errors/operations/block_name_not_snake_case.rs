use mcp_aql::prelude::*;

struct Tasks;

#[operations(block = Admin)]
impl Tasks {
    /// Count the tasks.
    #[operation(category = "READ")]
    fn count_tasks(&self) {}
}

fn main() {
    let _ = Tasks;
}
