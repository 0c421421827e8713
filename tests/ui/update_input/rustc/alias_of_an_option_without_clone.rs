use mcp_aql::UpdateInput;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// What state it is in.
    status: MaybeStatus,
}

type MaybeStatus = Option<Status>;

#[derive(Deserialize, JsonSchema)]
enum Status {
    Open,
}

fn main() {}
