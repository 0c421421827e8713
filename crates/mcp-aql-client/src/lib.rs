//! The parts of an MCP client below the protocol: processes, lines, HTTP and the masking of
//! secrets.
//!
//! - [`http`] (feature `http`): requests over HTTP, with proxies, TLS and server-sent events.
//! - [`lines`]: reads lines of limited length from untrusted input.
//! - [`process`]: starts child processes and ends them together with their descendants.
//! - [`secrets`]: finds the secrets in a configuration and masks them in output.
//!
//! The crate does not know MCP: you decide which messages to send over its connections.
#![forbid(unsafe_code)]

#[cfg(feature = "http")]
pub mod http;
pub mod lines;
pub mod process;
pub mod secrets;
