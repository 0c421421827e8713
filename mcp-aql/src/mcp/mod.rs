//! The MCP server: tools, descriptions, annotations, progress, sessions, standard input and output,
//! HTTP.
//!
//! The only module that uses rmcp; no type of rmcp leaves it.

#[cfg(feature = "http")]
mod accept;
mod adapter_tools;
mod batch_budget;
#[cfg(feature = "http")]
mod body;
#[cfg(feature = "http")]
mod body_budget;
#[cfg(feature = "http")]
mod body_record;
mod calls;
mod connection;
#[cfg(feature = "http")]
mod connections;
#[cfg(feature = "http")]
mod direct;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod http_options;
#[cfg(feature = "http")]
mod listener;
mod pipe;
mod progress;
#[cfg(feature = "http")]
mod replay;
mod rpc_error;
mod server;
mod service;
#[cfg(feature = "http")]
mod sessions;
mod stdio;
mod tool_description;
mod tool_table;
mod wire;

#[cfg(feature = "console")]
pub(crate) use connections::CONSOLE_CONNECTIONS;
#[cfg(feature = "http")]
pub use http::serve_tools_listener;
#[cfg(feature = "http")]
pub use http_options::HttpOptions;
#[cfg(feature = "console")]
pub(crate) use listener::serve as serve_connections;
pub use rpc_error::RpcError;
pub use service::{
    ServerDescription, ToolAnswer, ToolArguments, ToolDefinition, ToolHints, ToolService,
};
pub use stdio::serve_tools;
#[cfg(feature = "stdio")]
pub use stdio::serve_tools_stdio;
pub use wire::MalformedCall;
