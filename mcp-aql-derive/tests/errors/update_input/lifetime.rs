use mcp_aql::UpdateInput;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task<'a> {
    /// Short title.
    title: std::borrow::Cow<'a, str>,
}

fn main() {}
