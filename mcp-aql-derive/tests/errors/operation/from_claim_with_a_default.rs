use mcp_aql::prelude::*;

/// Return the notes of a tenant.
#[operation(category = "READ")]
fn list_notes(#[param(from_claim = "tenant", default = "north")] tenant: String) -> Vec<String> {
    vec![tenant]
}

fn main() {}
