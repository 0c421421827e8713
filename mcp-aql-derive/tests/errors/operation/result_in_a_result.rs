use mcp_aql::prelude::*;

/// Count the tags.
#[operation(category = "READ")]
fn count_tags() -> Result<Result<u8, String>, OperationError> {
    Ok(Err("the disk is full".to_owned()))
}

/// Find the last tag.
#[operation(category = "READ")]
fn get_last_tag() -> Option<std::result::Result<u8, String>> {
    Some(Err("the disk is full".to_owned()))
}

fn main() {
    mcp_aql_tests::register(count_tags {}); // must not add a second error
}
