use mcp_aql::computed_fields;

struct Task<T>(T);

#[computed_fields]
impl<T: Clone> Task<T> {
    /// Its labels.
    #[computed]
    fn about(&self) -> T {
        self.0.clone()
    }
}

fn main() {}
