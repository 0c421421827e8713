use mcp_aql::prelude::*;

/// Return the notes of a sign-in.
#[operation(category = "READ")]
fn list_notes(#[param(from_claim = "sid")] sign_in: String) -> Vec<String> {
    vec![sign_in]
}

fn main() {}
