//! MCP: tools, descriptions, annotations, progress, sessions, standard input and output, HTTP.
//!
//! The only module that names rmcp; none of its types leave it.

mod connection;
mod describe;
#[cfg(feature = "http")]
mod http;
mod progress;
mod server;
mod stdio;
mod tools;

#[cfg(feature = "http")]
pub use http::HttpOptions;
