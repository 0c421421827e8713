use mcp_aql::HttpOptions;
use mcp_aql::prelude::*;

fn routes(adapter: &Adapter) {
    let _ = adapter.router(&HttpOptions::new());
}

fn main() {}
