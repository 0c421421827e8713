use mcp_aql::UpdateInput;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Its state.
    status: MaybeStatus,
}

type MaybeStatus = Option<Status>;

#[derive(Deserialize, JsonSchema)]
enum Status {
    Open,
}

fn main() {}
