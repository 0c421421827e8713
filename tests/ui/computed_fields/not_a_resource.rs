use mcp_aql::computed_fields;

struct Task;

#[computed_fields]
impl Task {
    /// Whole days since it was created.
    #[computed]
    fn age_days(&self) -> i64 {
        7
    }
}

fn main() {}
