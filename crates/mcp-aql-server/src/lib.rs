//! The MCP server: serves tools over standard input and output, over any stream, and over HTTP.
//!
//! As the author of an adapter, use this crate through the crate `mcp-aql`. It is the only crate that uses rmcp, and
//! its API contains no type of rmcp, so changes of rmcp do not affect you.

mod adapter;
#[cfg(feature = "http")]
mod http;
mod mcp;
mod mcp_tools;
mod stdio;
pub mod stop;
pub mod testing;

#[cfg(feature = "http")]
pub use http::{
    HttpOptions, HttpSettings, ServeHttp, auth, bind, serve_connections, serve_tools_listener,
};
pub use mcp::answer::RpcError;
pub use mcp::drain::Shutdown;
pub use mcp::malformed_call::MalformedCall;
pub use mcp::service::{
    CallProperties, ServerSettings, ToolAnswer, ToolDefinition, ToolHints, ToolService, ToolWork,
};
pub use mcp_tools::McpTools;
pub use stdio::{ServeStdio, ServeStream, serve_tools, serve_tools_stdio};
