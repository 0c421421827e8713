use mcp_aql::prelude::*;

struct Tasks;

#[operations]
impl Tasks {
    /// Count the tasks.
    #[operation(category = "READ")]
    fn count_tasks(this: &Self) {
        let _ = this;
    }
}

fn main() {
    mcp_aql_tests::register_all(Tasks); // must not add a second error
}
