use mcp_aql::prelude::*;
use mcp_aql_tests::register_all;

struct Tasks;

#[operations]
impl Tasks {
    /// Find a task.
    #[operation(category = "READ")]
    fn get_task(&self) {}

    /// Look a task up.
    #[operation(category = "READ", name = "get_task")]
    fn look_up_task(&self) {}
}

fn main() {
    register_all(Tasks);
}
