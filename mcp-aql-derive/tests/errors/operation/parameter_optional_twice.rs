use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Show the garden.
#[operation(category = "READ")]
fn show_garden(
    /// The name of the bed, or none.
    bed: Option<Option<String>>,
) {
    let _ = bed;
}

fn main() {
    register(show_garden {});
}
