use mcp_aql::UpdateInput;
use mcp_aql_tests::foreign::OffsetDateTime;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// When it is due.
    due: OffsetDateTime,
}

fn main() {}
