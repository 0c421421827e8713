use mcp_aql::Update;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Task {
    title: String,
}

fn update(_: Update<Task>) {}

fn main() {}
