//! The trust block: the level of trust in an adapter, and its history.

use chrono::{DateTime, Utc};
use mcp_aql_protocol::TrustLevel;
use serde::{Deserialize, Serialize};

/// Declares the level of trust in an adapter, with its history. Pass it to
/// [`AdapterBuilder::trust`](crate::AdapterBuilder::trust). The matrix of trust and danger then decides about calls.
/// Without it, only the danger of an operation counts.
///
/// ```
/// use mcp_aql::TrustLevel;
/// use mcp_aql::gatekeeper::Trust;
///
/// # fn main() -> Result<(), mcp_aql::gatekeeper::TrustError> {
/// let at = "2031-05-06T07:00:00Z".parse().unwrap();
/// let trust = Trust::new(TrustLevel::Generated).promote(TrustLevel::Validated, "ci", at)?;
/// assert_eq!(trust.level(), TrustLevel::Validated);
/// assert!(trust.clone().promote(TrustLevel::Certified, "ci", at).is_err(), "one step at a time");
/// let trust = trust.demote(TrustLevel::Untested, "ops", at, "its upstream changed")?;
/// assert_eq!(trust.history().len(), 2);
/// # Ok(()) }
/// ```
///
/// In the configuration file:
///
/// ```toml
/// [gatekeeper.trust]
/// level = "validated"
/// validated_by = "ci"
/// validation_report = { tests_passed = 42, tests_total = 42 }
/// ```
///
/// Source: adapter/trust-levels §2.1, §4 (REQ-DNG-13, REQ-DNG-14).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    level: TrustLevel,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generated_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generated_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    validated_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    validated_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    validation_report: Option<ValidationReport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    promoted_from: Option<TrustLevel>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    promotion_history: Vec<TrustChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certification: Option<Certification>,
}

/// The tests that justify the level `validated`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidationReport {
    /// Number of passed tests.
    #[serde(default)]
    pub tests_passed: u64,
    /// Number of tests that ran.
    #[serde(default)]
    pub tests_total: u64,
    /// Number of verified endpoints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints_verified: Option<u64>,
    /// Test coverage of the adapter, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage_percent: Option<f64>,
    /// Time of the last response from the API behind the adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_api_response: Option<DateTime<Utc>>,
}

/// A change of the trust level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustChange {
    /// Level before the change.
    pub from: TrustLevel,
    /// Level after the change.
    pub to: TrustLevel,
    /// Time of the change.
    pub at: DateTime<Utc>,
    /// The person or system that made the decision.
    pub by: String,
    /// Reason for the change. Always present if the level was lowered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The certificate of a `certified` adapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certification {
    /// Authority that issued the certificate.
    pub authority: String,
    /// Signature of the authority.
    pub signature: String,
    /// Id of the certificate.
    pub certificate_id: String,
    /// When the certificate was issued.
    pub issued_at: DateTime<Utc>,
    /// When the certificate expires.
    pub expires_at: DateTime<Utc>,
    /// Scope of the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// An invalid change of the trust level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// A promotion that skips a level, or does not raise the level.
    #[error("trust must be raised one level at a time: from `{from}` to `{next}`, not to `{to}`")]
    Skips {
        /// Current level.
        from: TrustLevel,
        /// Next level.
        next: TrustLevel,
        /// Requested level.
        to: TrustLevel,
    },
    /// A promotion from the highest level.
    #[error("`certified` is the highest level of trust")]
    Highest,
    /// A demotion to a level not below the current one.
    #[error("`{to}` is not below `{from}`")]
    NotLower {
        /// Current level.
        from: TrustLevel,
        /// Requested level.
        to: TrustLevel,
    },
}

impl Trust {
    /// Declares a level without a history. Call [`promote`](Self::promote) and [`demote`](Self::demote) if you want to
    /// record its changes.
    pub fn new(level: TrustLevel) -> Self {
        Self {
            level,
            generated_at: None,
            generated_by: None,
            validated_at: None,
            validated_by: None,
            validation_report: None,
            promoted_from: None,
            promotion_history: Vec::new(),
            certification: None,
        }
    }

    /// Records the tests of the adapter, their time, and the person or system that ran them.
    #[must_use]
    pub fn validated(
        mut self,
        at: DateTime<Utc>,
        by: impl Into<String>,
        report: ValidationReport,
    ) -> Self {
        self.validated_at = Some(at);
        self.validated_by = Some(by.into());
        self.validation_report = Some(report);
        self
    }

    /// Sets the certificate of the adapter.
    #[must_use]
    pub fn certification(mut self, certification: Certification) -> Self {
        self.certification = Some(certification);
        self
    }

    /// Raises the level by one.
    ///
    /// # Errors
    ///
    /// Returns an error if `to` is not the next level (REQ-DNG-14).
    pub fn promote(
        mut self,
        to: TrustLevel,
        by: impl Into<String>,
        at: DateTime<Utc>,
    ) -> Result<Self, TrustError> {
        let next = next_level(self.level).ok_or(TrustError::Highest)?;
        if to != next {
            return Err(TrustError::Skips { from: self.level, next, to });
        }
        self.step(TrustChange { from: self.level, to, at, by: by.into(), reason: None });
        Ok(self)
    }

    /// Lowers the level to any lower one.
    ///
    /// # Errors
    ///
    /// Returns an error if `to` is not below the current level.
    pub fn demote(
        mut self,
        to: TrustLevel,
        by: impl Into<String>,
        at: DateTime<Utc>,
        reason: impl Into<String>,
    ) -> Result<Self, TrustError> {
        if to >= self.level {
            return Err(TrustError::NotLower { from: self.level, to });
        }
        let reason = Some(reason.into());
        self.step(TrustChange { from: self.level, to, at, by: by.into(), reason });
        Ok(self)
    }

    fn step(&mut self, step: TrustChange) {
        self.promoted_from = Some(step.from).filter(|_| step.to > step.from);
        self.level = step.to;
        self.promotion_history.push(step);
    }

    /// Returns the current level.
    pub fn level(&self) -> TrustLevel {
        self.level
    }

    /// Returns all changes of the level, oldest first.
    pub fn history(&self) -> &[TrustChange] {
        &self.promotion_history
    }

    /// Returns the contradictions in a trust block, because a file may contain one written by hand.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut level = None;
        for step in &self.promotion_history {
            if level.is_some_and(|level| level != step.from) {
                problems.push(format!(
                    "trust: a step from `{}` follows a step to another level",
                    step.from
                ));
            }
            if step.to > step.from && Some(step.to) != next_level(step.from) {
                problems.push(format!(
                    "trust: from `{}` to `{}` skips a level: promote one level at a time",
                    step.from, step.to
                ));
            }
            level = Some(step.to);
        }
        if let Some(level) = level
            && level != self.level
        {
            problems.push(format!(
                "trust: the level is `{}`, but the last step of its history leads to `{level}`",
                self.level
            ));
        }
        if let Some(report) = &self.validation_report
            && report.tests_passed > report.tests_total
        {
            problems.push("trust: more tests passed than ran".to_owned());
        }
        problems
    }
}

fn next_level(level: TrustLevel) -> Option<TrustLevel> {
    TrustLevel::ALL.iter().copied().find(|next| *next > level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> DateTime<Utc> {
        "2031-05-06T07:00:00Z".parse().unwrap()
    }

    #[test]
    fn trust_climbs_step_by_step_and_remembers_its_way() {
        // REQ-DNG-14
        let trust = Trust::new(TrustLevel::Untested);
        let skipped = trust.clone().promote(TrustLevel::Validated, "a", at()).unwrap_err();
        assert!(skipped.to_string().contains("to `generated`, not to `validated`"), "{skipped}");
        let mut trust = trust;
        for level in &TrustLevel::ALL[1..] {
            trust = trust.promote(*level, "a", at()).unwrap();
        }
        assert_eq!(
            trust.clone().promote(TrustLevel::Certified, "a", at()),
            Err(TrustError::Highest)
        );
        assert!(trust.clone().demote(TrustLevel::Certified, "a", at(), "b").is_err());
        let trust = trust.demote(TrustLevel::Generated, "a", at(), "broken").unwrap();
        assert_eq!(trust.history().len(), 5);
        assert_eq!(trust.history()[4].reason.as_deref(), Some("broken"));
        assert_eq!(trust.problems(), Vec::<String>::new());
    }

    #[test]
    fn a_bad_block_is_refused_cleanly() {
        // REQ-DNG-13, REQ-DNG-14
        for text in ["level = 'high'", "", "level = 'validated'\nlevle = 1"] {
            assert!(toml_edit::de::from_str::<Trust>(text).is_err(), "{text}");
        }
        let block = |text: &str| toml_edit::de::from_str::<Trust>(text).unwrap().problems();
        let step = |from: &str, to: &str| {
            format!("{{ from = '{from}', to = '{to}', at = '2031-05-06T07:00:00Z', by = 'a' }}")
        };
        let history = |level: &str, steps: &[String]| {
            block(&format!("level = '{level}'\npromotion_history = [{}]", steps.join(",")))
        };
        assert_eq!(history("generated", &[step("untested", "generated")]), Vec::<String>::new());
        let skipped = history("validated", &[step("untested", "validated")]);
        assert!(skipped[0].contains("skips a level"), "{skipped:?}");
        let other = history("certified", &[step("untested", "generated")]);
        assert!(other[0].contains("leads to `generated`"), "{other:?}");
        let broken =
            history("generated", &[step("generated", "validated"), step("untested", "generated")]);
        assert!(broken[0].contains("follows a step"), "{broken:?}");
    }
}
