//! The MCP server: it serves tools over standard input and output and over HTTP.
//!
//! This is the only crate that uses rmcp, and no type of rmcp is part of its API. Authors of adapters use it
//! through the crate `mcp-aql`.

#[cfg(feature = "http")]
mod accept;
mod adapter_tools;
mod batch_budget;
#[cfg(feature = "http")]
mod body;
mod calls;
mod connection;
#[cfg(feature = "http")]
mod connections;
#[cfg(all(feature = "http", unix))]
mod descriptor_limit;
#[cfg(all(feature = "http", not(unix)))]
#[path = "without_descriptor_limit.rs"]
mod descriptor_limit;
#[cfg(feature = "http")]
mod direct;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod http_options;
#[cfg(feature = "http")]
mod listener;
mod original_message;
mod pipe;
mod progress;
#[cfg(feature = "http")]
mod replay;
mod request_meta;
mod rpc_error;
mod server;
mod service;
#[cfg(feature = "http")]
mod sessions;
#[cfg(all(feature = "stdio", target_os = "linux"))]
mod standard_pipes;
#[cfg(all(feature = "stdio", not(target_os = "linux")))]
#[path = "without_standard_pipes.rs"]
mod standard_pipes;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(any(feature = "stdio", feature = "http"))]
pub mod stop;
mod stream;
pub mod testing;
mod tool_description;
mod tool_table;
mod wire;

#[cfg(feature = "http")]
pub use http::{ServeHttp, serve_tools_listener};
#[cfg(feature = "http")]
pub use http_options::HttpOptions;
#[cfg(feature = "http")]
pub use listener::serve as serve_connections;
pub use rpc_error::RpcError;
pub use service::{
    ServerDescription, ToolAnswer, ToolArguments, ToolDefinition, ToolHints, ToolService,
};
#[cfg(feature = "stdio")]
pub use stdio::{ServeStdio, serve_tools_stdio};
pub use stream::{ServeStream, serve_tools};
pub use wire::MalformedCall;
