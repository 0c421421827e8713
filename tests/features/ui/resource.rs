use mcp_aql::prelude::*;

fn main() {
    let _ = Adapter::builder("notes").resource(());
}
