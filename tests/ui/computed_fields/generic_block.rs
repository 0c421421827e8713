use mcp_aql::computed_fields;

struct Task<T>(T);

#[computed_fields]
impl<T: Clone> Task<T> {
    /// What it is about.
    #[computed]
    fn about(&self) -> T {
        self.0.clone()
    }
}

fn main() {}
