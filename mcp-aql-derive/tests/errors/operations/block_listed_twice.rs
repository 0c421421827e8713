use mcp_aql::prelude::*;

struct Tasks;

#[operations(blocks(admin, admin))]
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
    let _ = Tasks;
}
