use mcp_aql::prelude::*;

fn main() {
    let _ = Adapter::builder("tasks").cursor_key([0; 32]).build();
}
