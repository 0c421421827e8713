//! MCP over HTTP with rmcp: sessions, streams and their resumption, and all requests that are not answered directly.
//!
//! [`server`] handles the requests that rmcp decodes, and [`sessions`] are its sessions. All other modules adapt rmcp
//! to this server. Each of them names what rmcp lacks, so that you can delete the module once rmcp has it.

pub(crate) mod accept;
mod client_user;
pub(crate) mod context;
pub(crate) mod current_request;
pub(crate) mod events;
pub(crate) mod forward;
pub(crate) mod kept_reply;
pub(crate) mod long_id;
pub(crate) mod open_session;
pub(crate) mod original_message;
pub(crate) mod replay;
pub(crate) mod server;
mod session_usage;
pub(crate) mod sessions;
mod task_answers;
mod task_routing;
