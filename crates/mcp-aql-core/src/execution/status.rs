//! The status of an execution, and the allowed transitions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of an execution.
///
/// Source: MCP-AQL §8.4.1 (REQ-LIF-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ExecutionStatus", description = "The status of an execution.")]
pub enum Status {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// A transition between two statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transition {
    Start,
    Complete,
    Fail,
    Cancel,
    Retry,
}

impl Status {
    pub(crate) const ALL: [Self; 5] =
        [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    /// Returns the name used by the protocol.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns `true` if the execution has ended. Only a retry can change such a status (REQ-LIF-03).
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Returns the status after a transition, or `None` if the transition is not allowed (REQ-LIF-02, choice C-65).
    ///
    /// ```text
    /// pending → running | cancelled
    /// running → completed | failed | cancelled
    /// failed  → running (retry)
    /// ```
    pub(crate) const fn after(self, step: Transition) -> Option<Self> {
        match (self, step) {
            (Self::Pending, Transition::Start) | (Self::Failed, Transition::Retry) => {
                Some(Self::Running)
            }
            (Self::Running, Transition::Complete) => Some(Self::Completed),
            (Self::Running, Transition::Fail) => Some(Self::Failed),
            (Self::Pending | Self::Running, Transition::Cancel) => Some(Self::Cancelled),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_moves_are_allowed() {
        // REQ-LIF-01 to REQ-LIF-03, choice C-65
        let steps = [
            Transition::Start,
            Transition::Complete,
            Transition::Fail,
            Transition::Cancel,
            Transition::Retry,
        ];
        let mut moves = Vec::new();
        for from in Status::ALL {
            for step in steps {
                if let Some(to) = from.after(step) {
                    moves.push((from.as_str(), to.as_str()));
                }
            }
        }
        assert_eq!(
            moves,
            [
                ("pending", "running"),
                ("pending", "cancelled"),
                ("running", "completed"),
                ("running", "failed"),
                ("running", "cancelled"),
                ("failed", "running"),
            ]
        );
    }

    #[test]
    fn words_are_those_of_serde() {
        for status in Status::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
    }
}
