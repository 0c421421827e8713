//! The MCP server: serves tools over standard input and output, over any stream, and over HTTP.
//!
//! As the author of an adapter, use this crate through the crate `mcp-aql`. It is the only crate that uses rmcp, and
//! its API contains no type of rmcp, so changes of rmcp do not affect you.

mod adapter;
#[cfg(feature = "http")]
pub mod auth;
#[cfg(feature = "http")]
mod http;
mod mcp;
mod mcp_tools;
mod pipe;
#[cfg_attr(not(target_os = "linux"), path = "without_standard_pipes.rs")]
mod standard_pipes;
mod stdio;
pub mod stop;
mod stream;
pub mod testing;

pub use crate::mcp::answer::RpcError;
pub use crate::mcp::drain::Shutdown;
pub use crate::mcp::malformed_call::MalformedCall;
pub use crate::mcp::service::{
    CallProperties, ServerSettings, ToolAnswer, ToolDefinition, ToolHints, ToolService, ToolWork,
};
pub use crate::mcp::task_source::TaskSource;
#[cfg(feature = "http")]
pub use http::{HttpOptions, ServeHttp, bind, serve_connections, serve_tools_listener};
pub use mcp_tools::McpTools;
pub use stdio::{ServeStdio, serve_tools_stdio};
pub use stream::{ServeStream, serve_tools};
