use mcp_aql::prelude::*;

async fn start(adapter: Adapter) -> mcp_aql::Result {
    adapter.run().await
}

fn main() {}
