//! A server for the aggregator, as the variable `UPSTREAM_SCRIPT` says.

fn main() {
    mcp_aql_upstreams::serve_if_asked();
}
