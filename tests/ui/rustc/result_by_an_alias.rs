use mcp_aql::prelude::*;

type Counted<T> = Result<T, String>;

/// Count the tags.
#[operation(category = "EXECUTE", lifecycle)]
async fn execute_count() -> Counted<u8> {
    Err("the disk is full".to_owned())
}

fn main() {
    mcp_aql_tests::register(execute_count {}); // must not add a second error
}
