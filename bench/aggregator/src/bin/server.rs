//! A scripted MCP server; the variable `UPSTREAM_SCRIPT` holds the script.

fn main() {
    mcp_aql_upstreams::serve_if_asked();
}
