use mcp_aql::operations;

struct Tasks;

#[operations]
impl Tasks {
    /// Get a task.
    #[operation(category = "READ")]
    fn get_task(
        &self,
        /// Which one.
        params: String,
    ) {
        let _ = params;
    }
}

fn main() {
    mcp_aql_tests::register_all(Tasks); // must not add a second error
}
