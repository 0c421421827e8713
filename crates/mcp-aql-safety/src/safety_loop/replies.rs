//! The replies of the reserved operations.

use schemars::JsonSchema;
use serde::Serialize;

use super::agent_state::AgentExecutionStatus;
use super::directive::AutonomyDirective;

/// An agent's execution.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct AgentExecution {
    /// The execution's id.
    pub execution_id: String,
    /// The status of the execution.
    pub status: AgentExecutionStatus,
    /// The agent's name.
    pub element_name: String,
    /// The safety loop's mode: enforcing, monitoring, logging or disabled.
    pub safety_loop: String,
    /// When the execution started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When the execution ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// The number of reported steps.
    pub progress: StepCount,
    /// The request that a person must approve first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Instructions for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The progress of an agent's execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct StepCount {
    /// The number of reported steps.
    pub current: u64,
}

/// The reply to a reported step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct StepReply {
    /// The execution's id.
    pub execution_id: String,
    /// The status of the execution.
    pub status: AgentExecutionStatus,
    /// The number of reported steps.
    pub progress: StepCount,
    /// The decision on the reported action. It is authoritative.
    pub autonomy: AutonomyDirective,
}

/// The effect of a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Verified")]
#[non_exhaustive]
pub struct VerificationReply {
    /// Whether the code was accepted. A wrong code results in an error.
    pub confirmed: bool,
    /// Instructions for the agent.
    pub next: String,
}
