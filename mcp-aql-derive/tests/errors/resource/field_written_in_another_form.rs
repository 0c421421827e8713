use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

fn iso<S: serde::Serializer>(seconds: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(seconds)
}

#[derive(Serialize, JsonSchema, Resource)]
struct Task {
    /// Identifier.
    #[resource(id)]
    task_id: String,
    /// When it is due.
    #[serde(serialize_with = "iso")]
    #[resource(filter)]
    due: u64,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
