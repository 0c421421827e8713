use mcp_aql::operation;

trait Tasks {
    /// Count the tasks.
    #[operation(category = "READ")]
    fn count_tasks(&self) -> usize;
}

fn main() {}
