use mcp_aql::prelude::*;

struct Files;

#[operations]
impl Files {
    /// Read a file.
    #[operation(category = "READ")]
    fn get_file(&self) -> std::io::Result<String> {
        std::fs::read_to_string("tasks.txt")
    }
}

fn main() {
    mcp_aql_tests::register_all(Files); // must not add a second error
}
