use mcp_aql::prelude::*;

#[derive(JsonSchema)]
struct Tag;

struct Tags;

#[operations]
impl Tags {
    /// Find tags.
    #[operation(category = "READ")]
    async fn list_tags(&self) -> Result<Vec<Tag>, OperationError> {
        Ok(vec![Tag])
    }
}

fn main() {
    mcp_aql_tests::register_all(Tags); // must not add a second error
}
