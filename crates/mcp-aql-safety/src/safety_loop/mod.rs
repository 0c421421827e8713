//! The safety loop: agents report each action before they take it, and receive a decision.
//!
//! Harmless actions are allowed. Dangerous ones wait for the approval of a person. If an action is worse, the agent is
//! blocked until a person lifts the block with a code that no agent can see.
//!
//! Call `safety_loop` on the adapter's builder with a [`SafetyLoop`] to enable it. A [`RiskScorer`] scores the risk of
//! an action. The channels of the module [`operator`](crate::operator) reach people.
//!
//! The loop evaluates the actions that agents *report*, so it only works with clients that make their agents report.
//!
//! Source: MCP-AQL §8.6 to §8.8.

mod action;
mod agent_block_gate;
mod agent_state;
mod answers;
mod approval_queue;
mod approval_record;
mod approval_status;
mod approvals_gate;
mod audit_record;
mod caller;
mod channels;
mod code;
mod code_attempts;
mod config_table;
mod directive;
mod evaluation;
mod evaluator;
mod operation_handlers;
mod operations;
mod patterns;
mod presence;
mod recent_audit;
mod records;
mod rejection;
mod replies;
mod request_limit;
mod retry_lockout;
mod risk;
mod risk_words;
mod runtime;
mod secret_mask;
mod session_agents;
mod session_registry;
mod settings;
mod state_machine;
mod stop;
mod transition;
mod waiting_agents;

use mcp_aql_core::AdapterBuilder;

pub use action::Action;
pub(crate) use agent_block_gate::AgentBlockGate;
pub use agent_state::AgentExecutionStatus;
pub(crate) use approval_queue::ApprovalQueue;
pub use approval_status::ApprovalStatus;
pub(crate) use config_table::{KEYS, LoopTable};
pub use directive::{
    AgentNotification, AutonomyDirective, LoopMode, NotificationMetadata, NotificationType,
    RiskTolerance, SafetyTier, StepOutcome, UnknownChoice,
};
pub(crate) use operations::operations;
pub(crate) use recent_audit::RecentAudit;
pub use replies::{AgentExecution, StepCount, StepReply, VerificationReply};
pub use risk::{DefaultScorer, Risk, RiskScorer};
pub use runtime::SafetyCore;
pub(crate) use settings::AgentPolicies;
pub use settings::{AgentSettings, SafetyLoop};

/// Adds [`safety_loop`](Self::safety_loop) to [`AdapterBuilder`].
pub trait WithSafetyLoop {
    /// Adds a safety loop for agents. Default: none, without any cost (REQ-LOOP-01).
    ///
    /// Blocks and other state must outlive the process. They are kept in the [`store`](AdapterBuilder::store), by
    /// default in a file in the user's state directory. In tests, use a
    /// [`MemoryState`](mcp_aql_core::store::MemoryState).
    #[must_use]
    fn safety_loop(self, safety_loop: SafetyLoop) -> Self;
}

impl WithSafetyLoop for AdapterBuilder {
    fn safety_loop(self, safety_loop: SafetyLoop) -> Self {
        self.extension(safety_loop)
    }
}

#[cfg(test)]
mod audit_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;
