use mcp_aql::prelude::*;

async fn start(adapter: Adapter) -> mcp_aql::Result {
    adapter.serve_stdio().await
}

fn main() {}
