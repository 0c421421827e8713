use mcp_aql::prelude::*;
use serde::Serialize;

#[derive(Serialize)]
struct Tag;

/// Find a tag.
#[operation(category = "READ")]
fn get_tag() -> Result<Tag, OperationError> {
    Ok(Tag)
}

fn main() {
    mcp_aql_tests::register(get_tag {}); // must not add a second error
}
