use mcp_aql::prelude::*;

struct Tasks;

#[operations]
impl Tasks {
    /// Count the tasks.
    #[operation(category = "READ")]
    fn count_tasks(&self) {}
}

#[operations(block = admin)]
impl Tasks {
    /// Get the version.
    #[operation(category = "READ")]
    fn version(&self) {}
}

fn main() {
    mcp_aql_tests::register_all(Tasks);
}
