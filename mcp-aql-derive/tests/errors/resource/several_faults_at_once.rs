use mcp_aql::Resource;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema, Resource)]
#[resource(
    presets(minimal = [task_idd, done], MINIMAL = [done]),
    default_sort(done sideways),
    relationships(references = ""),
)]
struct Task {
    #[resource(id, sorted)]
    task_id: String,
    /// A field.
    #[resource(numeric, search)]
    done: bool,
    /// Number.
    #[resource(id)]
    number: u64,
}

fn main() {
    mcp_aql_tests::identified::<Task>(); // must not add a second error
}
