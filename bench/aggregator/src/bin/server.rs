//! A scripted MCP server. Pass the script in the variable `UPSTREAM_SCRIPT`.

fn main() {
    mcp_aql_upstreams::serve_if_asked();
}
