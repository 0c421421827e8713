use mcp_aql::prelude::*;
use mcp_aql_tests::register_all;

struct Tasks;

#[operations]
impl Tasks {
    /// Find a task.
    #[operation(category = "READ")]
    fn get_task(&mut self) {}
}

fn main() {
    register_all(Tasks);
}
