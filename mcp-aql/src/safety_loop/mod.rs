//! The safety loop: agents report each action before they take it and are told whether they may;
//! what is dangerous waits for a person, and what is worse blocks the agent until a person lifts the
//! block with a code that no agent can see.
//!
//! [`SafetyLoop`] switches it on. [`RiskScorer`] tells how risky an action is; people are reached
//! through the [`operator`](crate::operator) module's channels.
//!
//! The loop watches what agents *report*: it works for clients that make their agents report.
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
