//! The vocabulary of directives: decisions, risk tiers, notifications and modes.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use mcp_aql_core::internal::gatekeeper::ApprovalRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The decision on a reported step: whether the agent may continue.
///
/// Source: MCP-AQL §8.7.1 (REQ-AUT-01, REQ-AUT-02).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AutonomyDirective {
    /// If true, the agent may take the reported action.
    #[serde(rename = "continue")]
    pub may_continue: bool,
    /// The reasons for the decision.
    pub factors: Vec<String>,
    /// True if the agent is blocked and must stop all actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<bool>,
    /// The reason for a pause or a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of steps until a person is asked.
    #[serde(rename = "stepsRemaining", default, skip_serializing_if = "Option::is_none")]
    pub steps_remaining: Option<u32>,
    /// The risk of the reported action.
    #[serde(rename = "nextStepRisk", default, skip_serializing_if = "Option::is_none")]
    pub next_step_risk: Option<SafetyTier>,
    /// Events since the last report, and requests that still wait for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notifications: Vec<AgentNotification>,
}

impl AutonomyDirective {
    /// Allows the action.
    pub(super) fn proceed(factors: Vec<String>) -> Self {
        Self {
            may_continue: true,
            factors,
            stopped: None,
            reason: None,
            steps_remaining: None,
            next_step_risk: None,
            notifications: Vec::new(),
        }
    }

    /// Pauses the agent until a person decides.
    pub(super) fn pause(reason: impl Into<String>, factors: Vec<String>) -> Self {
        Self { may_continue: false, reason: Some(reason.into()), ..Self::proceed(factors) }
    }
}

/// The risk tier of an action (REQ-AUT-03, REQ-AUT-10).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SafetyTier {
    /// The action may be taken.
    Advisory,
    /// A person must confirm the action with `confirm_operation`.
    Confirm,
    /// A person must verify the action with `verify_challenge`.
    Verify,
    /// The agent is blocked until a person verifies.
    DangerZone,
}

impl SafetyTier {
    /// Returns the tier of a score from 0 to 100.
    pub const fn of_score(score: u8) -> Self {
        match score {
            0..=30 => Self::Advisory,
            31..=60 => Self::Confirm,
            61..=85 => Self::Verify,
            _ => Self::DangerZone,
        }
    }

    /// The protocol's name of the tier.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Advisory => "advisory",
            Self::Confirm => "confirm",
            Self::Verify => "verify",
            Self::DangerZone => "danger_zone",
        }
    }
}

/// A notification that an agent receives with its next step (REQ-AUT-12 to REQ-AUT-14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct AgentNotification {
    /// The type of the notification.
    #[serde(rename = "type")]
    pub kind: NotificationType,
    /// The message, one sentence.
    pub message: String,
    /// The subject of the notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<NotificationMetadata>,
    /// When it happened, in ISO 8601 (UTC).
    pub timestamp: String,
}

impl AgentNotification {
    pub(super) fn new(
        kind: NotificationType,
        message: impl Into<String>,
        metadata: Option<NotificationMetadata>,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            kind,
            message: message.into(),
            metadata,
            timestamp: mcp_aql_core::internal::util::clock::text(now),
        }
    }

    /// Creates the notification about a call that waits for a person, for the agents of its session.
    pub(super) fn of_waiting_call(pending: &ApprovalRequest<'_>, now: DateTime<Utc>) -> Self {
        let metadata = NotificationMetadata {
            operation: Some(pending.operation.to_owned()),
            reason: pending.reasons.first().cloned(),
            level: Some(pending.level.to_owned()),
            verification_id: None,
        };
        let message = format!("Operation '{}' waits for a person's approval", pending.operation);
        Self::new(NotificationType::PermissionPending, message, Some(metadata), now)
    }
}

/// The type of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotificationType {
    /// An operation waits for a person's approval.
    PermissionPending,
    /// The execution is paused.
    AutonomyPause,
    /// An agent is blocked.
    DangerZone,
    /// For information.
    Status,
    /// An error.
    Error,
}

impl NotificationType {
    /// Returns `true` if the notification is repeated with every step until its subject is resolved. Other
    /// notifications are sent once.
    pub(super) const fn stays(self) -> bool {
        matches!(self, Self::PermissionPending | Self::AutonomyPause | Self::DangerZone)
    }
}

/// The subject of a notification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct NotificationMetadata {
    /// The operation that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The permission level or the tier that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The challenge id for `verify_challenge`.
    #[serde(rename = "verificationId", default, skip_serializing_if = "Option::is_none")]
    pub verification_id: Option<String>,
}

/// The error of parsing an unknown mode or risk tolerance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not known: write {known}")]
pub struct UnknownChoice {
    given: String,
    known: &'static str,
}

macro_rules! choice {
    ($type:ident, $known:literal, $($variant:ident = $word:literal),*) => {
        impl $type {
            /// Returns the name in configuration files and introspection.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),*
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = UnknownChoice;

            fn from_str(word: &str) -> Result<Self, UnknownChoice> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(UnknownChoice { given: word.to_owned(), known: $known }),
                }
            }
        }
    };
}

/// The treatment of reported steps. If you want to see the decisions before you enforce them, start with
/// [`Monitoring`](Self::Monitoring).
///
/// Source: MCP-AQL §8.6.1, §8.6.4, §8.6.7 (REQ-LOOP-03, REQ-LOOP-11, REQ-LOOP-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LoopMode {
    /// Evaluate every step and enforce the decision.
    #[default]
    Enforcing,
    /// Evaluate every step, but allow all of them. Use this to find out what the loop would do.
    Monitoring,
    /// Only write every step to the audit log.
    Logging,
    /// Only track executions.
    Disabled,
}

choice!(
    LoopMode,
    "`enforcing`, `monitoring`, `logging` or `disabled`",
    Enforcing = "enforcing",
    Monitoring = "monitoring",
    Logging = "logging",
    Disabled = "disabled"
);

impl LoopMode {
    /// Returns `true` if this mode protects less than `other`.
    pub(crate) fn is_laxer_than(self, other: Self) -> bool {
        let modes = [Self::Enforcing, Self::Monitoring, Self::Logging, Self::Disabled];
        let place = |mode| modes.iter().position(|each| *each == mode);
        place(self) > place(other)
    }
}

/// The highest risk score that an agent may take without a pause (REQ-AUT-11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RiskTolerance {
    /// Pauses the agent above a score of 25.
    Conservative,
    /// Pauses the agent above a score of 50.
    #[default]
    Moderate,
    /// Pauses the agent above a score of 75.
    Aggressive,
}

choice!(
    RiskTolerance,
    "`conservative`, `moderate` or `aggressive`",
    Conservative = "conservative",
    Moderate = "moderate",
    Aggressive = "aggressive"
);

impl RiskTolerance {
    /// Returns the highest score that does not pause the agent.
    pub const fn threshold(self) -> u8 {
        match self {
            Self::Conservative => 25,
            Self::Moderate => 50,
            Self::Aggressive => 75,
        }
    }
}

/// The outcome of the previous step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The step succeeded.
    Success,
    /// The step failed.
    Failure,
    /// The step was not taken.
    Skipped,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_directive_has_the_protocols_names() {
        // REQ-AUT-01, REQ-AUT-02, REQ-AUT-03, REQ-AUT-12, REQ-AUT-13
        let plain = AutonomyDirective::proceed(vec!["fine".to_owned()]);
        assert_eq!(
            serde_json::to_value(plain).unwrap(),
            json!({ "continue": true, "factors": ["fine"] })
        );
        let mut full = AutonomyDirective::pause("no", Vec::new());
        full.stopped = Some(true);
        full.steps_remaining = Some(3);
        full.next_step_risk = Some(SafetyTier::DangerZone);
        full.notifications = vec![AgentNotification {
            kind: NotificationType::PermissionPending,
            message: "waits".to_owned(),
            metadata: Some(NotificationMetadata {
                operation: Some("delete_bed".to_owned()),
                reason: Some("r".to_owned()),
                level: Some("confirm".to_owned()),
                verification_id: Some("v".to_owned()),
            }),
            timestamp: "2031-05-06T07:00:00.000Z".to_owned(),
        }];
        assert_eq!(
            serde_json::to_value(full).unwrap(),
            json!({
                "continue": false, "factors": [], "stopped": true, "reason": "no",
                "stepsRemaining": 3, "nextStepRisk": "danger_zone",
                "notifications": [{
                    "type": "permission_pending", "message": "waits",
                    "metadata": { "operation": "delete_bed", "reason": "r", "level": "confirm",
                                  "verificationId": "v" },
                    "timestamp": "2031-05-06T07:00:00.000Z",
                }],
            })
        );
        for (kind, word) in [
            (NotificationType::PermissionPending, "permission_pending"),
            (NotificationType::AutonomyPause, "autonomy_pause"),
            (NotificationType::DangerZone, "danger_zone"),
            (NotificationType::Status, "status"),
            (NotificationType::Error, "error"),
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), word);
        }
    }

    #[test]
    fn scores_fall_into_the_protocols_tiers() {
        // REQ-AUT-10, REQ-AUT-11
        for (score, tier) in [
            (0, SafetyTier::Advisory),
            (30, SafetyTier::Advisory),
            (31, SafetyTier::Confirm),
            (60, SafetyTier::Confirm),
            (61, SafetyTier::Verify),
            (85, SafetyTier::Verify),
            (86, SafetyTier::DangerZone),
            (100, SafetyTier::DangerZone),
        ] {
            assert_eq!(SafetyTier::of_score(score), tier, "{score}");
            assert_eq!(serde_json::to_value(tier).unwrap(), tier.as_str());
        }
        let thresholds =
            [RiskTolerance::Conservative, RiskTolerance::Moderate, RiskTolerance::Aggressive]
                .map(RiskTolerance::threshold);
        assert_eq!(thresholds, [25, 50, 75]);
        assert_eq!(RiskTolerance::default(), RiskTolerance::Moderate);
    }

    #[test]
    fn modes_are_the_protocols_words() {
        // REQ-LOOP-03, REQ-LOOP-15
        for word in ["enforcing", "monitoring", "logging", "disabled"] {
            assert_eq!(word.parse::<LoopMode>().unwrap().to_string(), word);
        }
        let error = "on".parse::<LoopMode>().unwrap_err().to_string();
        assert!(error.contains("`monitoring`"), "{error}");
    }
}
