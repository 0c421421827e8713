use mcp_aql::prelude::*;

/// Count the tags.
#[operation(category = "READ")]
fn count_tags() -> Result<u8, String> {
    Err("the disk is full".to_owned())
}

fn main() {
    mcp_aql_tests::register(count_tags {}); // must not add a second error
}
