use mcp_aql::prelude::*;

async fn start(adapter: Adapter) -> mcp_aql::Result {
    adapter.serve_http("127.0.0.1:8787".parse().unwrap(), ()).await
}

fn main() {}
