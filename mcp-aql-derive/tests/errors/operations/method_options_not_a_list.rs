use mcp_aql::prelude::*;
use mcp_aql_tests::register_all;

struct Tasks;

#[operations]
impl Tasks {
    /// Find a task.
    #[operation = "READ"]
    fn get_task(&self) {}
}

fn main() {
    register_all(Tasks);
}
