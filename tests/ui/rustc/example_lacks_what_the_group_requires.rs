use mcp_aql::prelude::*;

#[derive(ParamGroup)]
struct Place {
    /// Which board.
    board_id: String,
    /// Which column.
    column: Option<String>,
}

/// List the tasks.
#[operation(category = "READ", example = { "column": "todo" })]
fn list_tasks(#[param(group)] place: Place) {
    let _ = (place.board_id, place.column);
}

fn main() {
    mcp_aql_tests::register(list_tasks {}); // must not add a second error
}
