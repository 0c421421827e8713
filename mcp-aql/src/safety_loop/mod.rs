//! The safety loop: agents report each action before they take it, and receive the decision whether they may.
//! Dangerous actions wait for a person. Worse ones block the agent until a person lifts the block with a code
//! that no agent can see.
//!
//! [`SafetyLoop`] enables it. A [`RiskScorer`] scores the risk of an action. The channels of the module
//! [`operator`](crate::operator) reach people.
//!
//! The loop evaluates what agents *report*, so it requires clients that make their agents report.
//!
//! Source: MCP-AQL §8.6 to §8.8.

mod action;
mod answers;
mod approvals;
mod calls;
mod code;
mod core;
mod crowd;
mod desk;
mod directive;
mod evaluator;
#[cfg(test)]
mod faults;
mod judging;
mod machine;
mod operations;
mod patterns;
mod presence;
mod recent;
mod refusals;
mod risk;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod tries;

pub use action::Action;
#[cfg(feature = "cli")]
pub(crate) use approvals::Standing;
pub(crate) use approvals::{Approved, Pending};
pub use calls::{AgentExecution, StepCount, StepReply, Verified};
pub(crate) use core::SafetyCore;
pub(crate) use desk::SafetyDesk;
pub use directive::{
    AgentNotification, AutonomyDirective, LoopMode, NotificationMetadata, NotificationType,
    RiskTolerance, SafetyTier, StepOutcome, UnknownChoice,
};
pub(crate) use operations::{accept_literal_names, operations};
pub(crate) use recent::RecentAudit;
pub use risk::{DefaultScorer, Risk, RiskScorer};
pub(crate) use settings::LoopTable;
pub use settings::{AgentSettings, SafetyLoop};
pub use state::ExecutionStatus;
