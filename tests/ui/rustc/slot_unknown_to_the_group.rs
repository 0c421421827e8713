use mcp_aql::prelude::*;

#[derive(ParamGroup)]
struct Place {
    /// Which board.
    board_id: String,
}

/// Delete a board.
#[operation(category = "DELETE", danger(confirmation_message = "Delete {board}?"))]
fn delete_board(#[param(group)] place: Place) {
    let _ = place.board_id;
}

fn main() {
    mcp_aql_tests::register(delete_board {}); // must not add a second error
}
