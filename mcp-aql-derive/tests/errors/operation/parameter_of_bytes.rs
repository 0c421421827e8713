use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Show the garden.
#[operation(category = "READ")]
fn show_garden(
    /// A picture.
    picture: Option<Vec<u8>>,
) {
    let _ = picture;
}

fn main() {
    register(show_garden {});
}
