use mcp_aql::prelude::*;

struct Task {
    title: String,
}

#[computed_fields]
impl Task {
    /// How long the title is.
    #[computed(sort, name = "title_length")]
    fn length(&self) -> usize {
        self.title.len()
    }
}

fn main() {}
