use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Show the garden.
#[operation(category = "READ")]
fn show_garden(
    /// The differences by bed.
    differences: std::collections::BTreeMap<u128, Vec<(i128, u8)>>,
) {
    let _ = differences;
}

fn main() {
    register(show_garden {});
}
