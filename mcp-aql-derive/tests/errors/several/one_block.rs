use mcp_aql::prelude::*;
use mcp_aql_tests::register_all;

struct Tasks;

#[operations]
impl Tasks {
    #[operation(category = "READ")]
    fn get_task(&self) {}

    /// Count the tasks.
    #[operation(category = "READ")]
    fn count_tasks(&mut self) {}

    /// Return the version.
    #[operation(category = "READ")]
    fn version() {}

    /// Add a task.
    #[operation(category = "CREATE")]
    fn add_task(&self, title: &str) {
        let _ = title;
    }
}

fn main() {
    register_all(Tasks);
}
