//! The safety loop: agents report their actions, and people decide about the dangerous ones.
//!
//! Authors of adapters use this crate as `mcp_aql::safety_loop` and `mcp_aql::operator`, with the features
//! `safety` and `console` of `mcp-aql`.

#[cfg(feature = "console")]
pub mod console;
#[cfg(not(feature = "console"))]
#[path = "without_console.rs"]
pub mod console;
mod extension;
#[cfg_attr(
    not(feature = "console"),
    expect(dead_code, reason = "only the console uses these items")
)]
mod human_channel;
/// The operators: the requests that people receive, the channels that show them, and the possible
/// decisions.
///
/// A [`HumanChannel`](operator::HumanChannel) shows requests to people where no agent can read them:
/// approvals and the codes of challenges. An [`Operator`](operator::Operator) is the handle with which
/// people decide. Neither is reachable through MCP, so an agent cannot approve its own requests
/// (REQ-AUT-16).
pub mod operator {
    #[cfg(feature = "console")]
    pub use crate::console::{Console, ConsoleLink};
    pub use crate::extension::OperatorAccess;
    pub use crate::human_channel::*;
}
pub mod safety_loop;

pub use extension::{ByOperator, safety_core};
pub use safety_loop::WithSafetyLoop;
