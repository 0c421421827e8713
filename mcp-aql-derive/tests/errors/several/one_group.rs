use mcp_aql::prelude::*;

#[derive(ParamGroup)]
struct Paging {
    first: u32,
    /// Cursor to continue from.
    #[param(minimum = 1, defualt = "a")]
    after: String,
    /// Whether to go back.
    #[param(default = 1)]
    _backwards: bool,
}

fn main() {}
