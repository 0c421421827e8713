//! The MCP server: serves tools over standard input and output, over any stream, and over HTTP.
//!
//! As the author of an adapter, use this crate through the crate `mcp-aql`. It is the only crate that uses rmcp, and
//! its API contains no type of rmcp, so changes of rmcp do not affect you.

mod adapter;
#[cfg(feature = "http")]
pub mod auth;
mod batch_budget;
mod calls;
mod connection;
mod drain;
mod elicitation;
#[cfg(feature = "http")]
mod http;
mod mcp_tools;
mod mcp_version;
mod origin;
mod pipe;
mod principal_sessions;
mod progress;
mod request_meta;
mod rpc_error;
mod server;
mod service;
#[cfg_attr(not(target_os = "linux"), path = "without_standard_pipes.rs")]
mod standard_pipes;
mod stdio;
pub mod stop;
mod stream;
mod task_source;
mod tasks;
pub mod testing;
mod tool_table;
mod wire;

pub use drain::Shutdown;
#[cfg(feature = "http")]
pub use http::{HttpOptions, ServeHttp, bind, serve_connections, serve_tools_listener};
pub use mcp_tools::McpTools;
pub use rpc_error::RpcError;
pub use service::{
    CallProperties, ServerSettings, ToolAnswer, ToolDefinition, ToolHints, ToolService, ToolWork,
};
pub use stdio::{ServeStdio, serve_tools_stdio};
pub use stream::{ServeStream, serve_tools};
pub use task_source::TaskSource;
pub use wire::MalformedCall;
