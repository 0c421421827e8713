use mcp_aql::prelude::*;

struct Tasks;

#[operation(category = "READ")]
impl Tasks {}

fn main() {
    let _ = Tasks;
}
