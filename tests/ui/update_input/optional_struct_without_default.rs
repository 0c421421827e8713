use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Who reviewed it.
    review: Option<Review>,
}

#[derive(Clone, Deserialize, JsonSchema, UpdateInput)]
struct Review {
    /// Who.
    reviewer: String,
}

fn main() {
    let _ = Update::<Task>::from_json;
}
