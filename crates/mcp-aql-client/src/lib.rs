//! Code that clients of MCP servers need besides the protocol itself.
//!
//! - [`http`] (feature `http`): requests over HTTP, with proxies, TLS and server-sent events.
//! - [`lines`]: lines of limited length.
//! - [`process`]: child processes, ended with all processes that they have started.
//! - [`secrets`]: the secrets in a configuration, and their masking.
//!
//! The crate does not know MCP.
#![forbid(unsafe_code)]

#[cfg(feature = "http")]
pub mod http;
pub mod lines;
pub mod process;
pub mod secrets;
