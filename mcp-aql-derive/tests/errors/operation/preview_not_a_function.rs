use mcp_aql::prelude::*;

/// Delete a note.
#[operation(category = "DELETE", preview = "preview_note")]
fn delete_note() {}

fn main() {}
