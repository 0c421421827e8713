use mcp_aql::prelude::*;

struct Tasks;

#[operations(block = admin, blocks(reports))]
impl Tasks {
    /// Count the tasks.
    #[operation(category = "READ")]
    fn count_tasks(&self) {}
}

fn main() {
    let _ = Tasks;
}
