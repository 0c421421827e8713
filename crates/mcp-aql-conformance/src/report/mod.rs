//! The report of a run: the results of each check and the conformance level.

mod alike;
mod baseline;
mod causes;
mod check_report;
mod coverage;
mod diff;
mod exit_code;
mod html;
mod html_causes;
mod judgement;
mod junit;
mod obstacles;
mod plan;
mod repeat;
mod sarif;
mod show;
mod text;
mod value_text;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::baseline::{AcceptedFinding, Baseline};
pub use self::coverage::Coverage;
pub use self::diff::{Diff, DiffEntry};
pub(crate) use self::plan::PLAN_VERSION;
pub use self::plan::{
    ModePlan, OperationUse, Plan, PlanLimits, PlannedCreation, PlannedOperation, UnreadMode,
};
use crate::category::Mode;
use crate::finding::Finding;
pub use crate::requirements::SPEC_VERSION;

/// Version of the JSON format of reports.
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON schema of reports of this version.
pub const SCHEMA: &str = include_str!("../../report.schema.json");

/// The verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// At least one case was tested, and all cases passed.
    Pass,
    /// The adapter documents that it lacks the tested feature.
    #[serde(rename = "n/a")]
    NotApplicable,
    /// No case could be tested.
    Skip,
    /// No case could be tested because of findings of other checks.
    Blocked,
    /// A SHOULD requirement was violated.
    Warn,
    /// A MUST requirement was violated.
    Fail,
}

impl Verdict {
    /// Returns the verdict in capitals, as in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::NotApplicable => "N/A",
            Self::Skip => "SKIP",
            Self::Blocked => "BLOCKED",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
        }
    }
}

/// The report of a run (REQ-CNF-14). Serialize it with `serde_json` to save it as JSON.
///
/// ```
/// use mcp_aql_conformance::{CommandTarget, Report, Runner, Settings, Verdict};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), serde_json::Error> {
/// let runner = Runner::new(CommandTarget::new("/no/such/adapter", [""; 0]), Settings::default());
/// let report = runner.run().await;
/// assert_eq!((report.exit_code(), report.conformance_level), (1, 0));
/// assert!(report.checks().all(|check| check.verdict == Verdict::Skip));
///
/// let saved = serde_json::to_string(&report)?;
/// assert_eq!(serde_json::from_str::<Report>(&saved)?, report);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Version of the report format.
    pub schema_version: u32,
    /// Name of the server.
    pub implementation: String,
    /// Version of the server.
    pub version: String,
    /// Protocol version stated by the adapter.
    pub spec_version: String,
    /// Protocol version that the adapter was tested against.
    pub tested_spec_version: String,
    /// Tested adapter, as a URL or a command.
    pub target: String,
    /// Version of the runner.
    pub runner: String,
    /// Arguments for repeating the run with other checks: permissions, configuration and target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invocation: Vec<String>,
    /// Selected categories, checks and requirements. Empty if all checks were run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selection: Vec<String>,
    /// The requested level.
    pub requested_level: u8,
    /// The achieved level: 0, 1 or 2.
    pub conformance_level: u8,
    /// Operations and checks excluded by the configuration or the limits of the run, with the reasons. The level does
    /// not cover them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Parts of the server outside the run: other adapters, operations outside the sample, and tools that could not be
    /// listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside_run: Vec<String>,
    /// If `true`, only a sample of the operations was exercised, because the adapter has many.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sampled: bool,
    /// Reasons why the level is not higher.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obstacles: Vec<String>,
    /// Obstacles accepted by a baseline: checks tested in part or not at all, and other reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_obstacles: Vec<String>,
    /// Accepted findings of a baseline that did not occur although their checks were exercised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_longer_found: Vec<AcceptedFinding>,
    /// The tested modes.
    pub modes: Vec<Mode>,
    /// If `true`, the run was interrupted. The report then contains the results so far, and no level.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Items that the run created and could not remove, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// Duration of the run, in milliseconds.
    pub duration_ms: u64,
    /// The exercised share of the adapter.
    pub coverage: Coverage,
    /// Number of checks with each verdict.
    pub summary: Summary,
    /// The checks by category.
    pub categories: Vec<CategoryReport>,
}

/// Numbers of checks with each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Number of all checks.
    pub total: usize,
    /// Number of passed checks.
    pub passed: usize,
    /// Number of failed checks.
    pub failed: usize,
    /// Number of checks with warnings.
    pub warnings: usize,
    /// Number of checks without a tested case.
    pub skipped: usize,
    /// Number of checks without a tested case because of findings of other checks.
    pub blocked: usize,
    /// Number of checks of features that the adapter lacks.
    pub not_applicable: usize,
}

/// The checks of one category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CategoryReport {
    /// Name of the category.
    pub name: String,
    /// Reports of its checks.
    pub checks: Vec<CheckReport>,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// Id of the check.
    pub id: String,
    /// The checked rule.
    pub title: String,
    /// Ids of the covered requirements.
    pub requirements: Vec<String>,
    /// `MUST` or `SHOULD`.
    pub keyword: String,
    /// Conformance level of the check.
    pub level: u8,
    /// If `true`, only calls of level 2 checks revealed a failure of this level 1 check. It then denies level 2 only.
    #[serde(skip)]
    pub(crate) fails_later: bool,
    /// Verdict on all cases.
    pub verdict: Verdict,
    /// Number of passed cases.
    pub passed: usize,
    /// Number of failed cases.
    pub found: usize,
    /// One finding for each cause, up to a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Number of skipped cases by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, usize>,
    /// Checks with findings that made cases impossible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Obstruction>,
    /// Number of checks blocked by the findings of this check.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocks: usize,
    /// Reason why the check is not applicable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<String>,
    /// If `true`, cases were skipped that another configuration would test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Reasons for skipping these cases.
    #[serde(skip)]
    pub(crate) partial_reasons: BTreeSet<String>,
    /// If `true`, the check ended early because the adapter stopped replying or time ran out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// If `true`, no case was judged because the run had used up its calls of operations.
    ///
    /// Such a check does not deny the level, but the level does not cover it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
}

/// The cases of a check made impossible by the findings of another check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Obstruction {
    /// Id of the check with the findings.
    pub check: String,
    /// Description of the unread part.
    pub why: String,
    /// Number of cases.
    pub cases: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Rejects a file of another version than this runner reads.
fn check_version(key: &str, found: u32, readable: u32) -> Result<(), serde_json::Error> {
    if found == readable {
        return Ok(());
    }
    Err(serde::de::Error::custom(format!(
        "its `{key}` is {found}, and this version of the runner reads {readable}"
    )))
}

impl Report {
    /// Parses a report saved as JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the string is not a report with this [`SCHEMA_VERSION`].
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let report: Self = serde_json::from_str(text)?;
        check_version("schemaVersion", report.schema_version, SCHEMA_VERSION)?;
        Ok(report)
    }

    /// Returns `true` if the server was reached. If not, no check has a case, and you find the cause in `obstacles`.
    pub const fn is_reached(&self) -> bool {
        !self.modes.is_empty() || self.summary.skipped < self.summary.total
    }

    /// Returns the reports of all checks.
    pub fn checks(&self) -> impl Iterator<Item = &CheckReport> {
        self.categories.iter().flat_map(|category| &category.checks)
    }
}

#[cfg(test)]
mod schema_tests;

#[cfg(test)]
mod tests;
