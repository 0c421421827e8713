use mcp_aql::{Update, UpdateInput};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Task {
    /// Short title.
    #[serde(deserialize_with = "shout")]
    title: String,
}

fn shout<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|text| text.to_uppercase())
}

fn main() {
    let _ = Update::<Task>::from_json; // must not add a second error
}
