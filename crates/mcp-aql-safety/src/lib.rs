//! The safety loop: agents report their actions, and people decide about the dangerous ones.
//!
//! If you write an adapter, use this crate as `mcp_aql::safety_loop` and `mcp_aql::operator`, with the features
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
/// Operators: the requests that people receive, the channels that show them, and the possible decisions.
///
/// A [`HumanChannel`](operator::HumanChannel) shows requests to people where no agent can read them: approvals and the
/// codes of challenges. With an [`Operator`](operator::Operator) you build tools in which people decide. Neither is
/// reachable through MCP, so an agent cannot approve its own requests (REQ-AUT-16).
///
/// Implement a channel to reach people where the built-in ones cannot:
///
/// ```
/// use mcp_aql::BoxFuture;
/// use mcp_aql::operator::{ChannelError, HumanChannel, HumanRequest};
///
/// /// Sends requests to a chat of the operators.
/// struct Chat;
///
/// # async fn send(_: String) -> Result<(), ChannelError> { Ok(()) }
/// impl HumanChannel for Chat {
///     fn name(&self) -> &str {
///         "chat"
///     }
///
///     fn present<'a>(&'a self, request: &'a HumanRequest) -> BoxFuture<'a, Result<(), ChannelError>> {
///         let message = format!("{}\nCode: {}", request.action, request.code.reveal());
///         Box::pin(send(message))
///     }
/// }
/// ```
///
/// Build your own tool for decisions with the handle:
///
/// ```no_run
/// use mcp_aql::operator::Operator;
///
/// # async fn sample(operator: Operator) -> Result<(), mcp_aql::OperationError> {
/// for request in operator.overview().await?.requests {
///     println!("{}: {}", request.id, request.action);
///     operator.deny(&request.id, "night shift").await?;
/// }
/// # Ok(()) }
/// ```
pub mod operator {
    #[cfg(feature = "console")]
    pub use crate::console::{Console, ConsoleLink};
    pub use crate::extension::OperatorAccess;
    pub use crate::human_channel::*;
}
pub mod safety_loop;

pub use extension::{ByOperator, safety_core};
pub use safety_loop::WithSafetyLoop;
