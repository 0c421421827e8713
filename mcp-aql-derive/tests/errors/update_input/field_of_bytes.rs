use mcp_aql::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

/// A bed.
#[derive(Deserialize, JsonSchema, UpdateInput)]
struct Bed {
    /// A picture.
    picture: Vec<u8>,
}

fn main() {}
