//! MCP without its transports: decodes messages, runs calls, and over streams answers every other method.
//!
//! [`handshake`] answers `initialize`, `server/discover`, `ping` and `tools/list`. [`server`] runs `tools/call`,
//! through the [`service`] with the tools. [`tasks`] answers the requests about tasks. The transports read messages,
//! keep connections, and send answers.

pub(crate) mod admission;
pub(crate) mod answer;
pub(crate) mod batch_budget;
pub(crate) mod cancel;
pub(crate) mod connection;
pub(crate) mod drain;
pub(crate) mod elicitation;
pub(crate) mod handshake;
pub(crate) mod malformed_call;
pub(crate) mod message;
mod principal_sessions;
pub(crate) mod progress;
pub(crate) mod request_id;
pub(crate) mod server;
pub(crate) mod service;
pub(crate) mod task_source;
pub(crate) mod tasks;
pub(crate) mod tool_table;
pub(crate) mod version;
