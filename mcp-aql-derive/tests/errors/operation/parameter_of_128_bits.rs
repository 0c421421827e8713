use mcp_aql::prelude::*;
use mcp_aql_tests::register;

/// Show the garden.
#[operation(category = "READ")]
fn show_garden(
    /// The number of seeds.
    seeds: u128,
) {
    let _ = seeds;
}

fn main() {
    register(show_garden {});
}
