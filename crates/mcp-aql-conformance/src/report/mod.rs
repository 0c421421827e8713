//! The report of a run: the results of each check and the conformance level.

mod alike;
mod badge;
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
mod markdown;
mod obstacles;
mod plan;
mod repeat;
mod sarif;
#[cfg(test)]
mod schema_tests;
mod show;
#[cfg(test)]
mod tests;
mod text;
mod upgrade;
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
pub use crate::requirements::SPEC_VERSIONS;

/// The version of the form of reports in JSON. Reports of earlier versions can still be read.
pub const SCHEMA_VERSION: u32 = 2;

/// The JSON schema of reports of this version.
pub const SCHEMA: &str = include_str!("../../report.schema.json");

/// The verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All cases passed, and there was at least one.
    Pass,
    /// The adapter documents that it does not have the tested feature.
    #[serde(rename = "n/a")]
    NotApplicable,
    /// No case could be tested.
    Skip,
    /// No case could be tested because of findings of other checks.
    Blocked,
    /// A requirement that is a SHOULD was violated.
    Warn,
    /// A requirement that is a MUST was violated.
    Fail,
}

impl Verdict {
    /// The verdict in capitals, as in reports.
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

/// A report (REQ-CNF-14), which `serde` converts to JSON.
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
    /// The version of the report's form.
    #[serde(default = "first_version")]
    pub schema_version: u32,
    /// The name of the server.
    pub implementation: String,
    /// The version of the server.
    pub version: String,
    /// The version of the protocol that the adapter states.
    pub spec_version: String,
    /// The version of the protocol that the adapter was tested against.
    #[serde(default = "first_spec_version")]
    pub tested_spec_version: String,
    /// The target, as a URL or a command.
    pub target: String,
    /// The version of the runner.
    pub runner: String,
    /// The arguments that repeat the run with other checks: permissions, configuration and target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invocation: Vec<String>,
    /// The selected categories, checks and requirements; empty for all checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selection: Vec<String>,
    /// The requested level.
    pub requested_level: u8,
    /// The achieved level: 0, 1 or 2.
    pub conformance_level: u8,
    /// Operations and checks that the configuration or the limits of the run exclude, with the reasons. The
    /// level does not cover them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Parts of the server that the run did not test: other adapters, the operations outside the sample, and
    /// tools that could not be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside_run: Vec<String>,
    /// Whether a sample of the operations was exercised, because the adapter has many.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sampled: bool,
    /// The reasons why the level is not higher.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obstacles: Vec<String>,
    /// The obstacles that a baseline accepts: checks that were not tested, or in part, and other reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_obstacles: Vec<String>,
    /// Accepted findings of a baseline that did not occur, although their checks were exercised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub no_longer_found: Vec<AcceptedFinding>,
    /// The tested modes.
    pub modes: Vec<Mode>,
    /// Whether the run was interrupted. The report then has what was tested before, and no level.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Items that the run created and could not remove, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// The duration of the run in milliseconds.
    pub duration_ms: u64,
    /// The share of the adapter that was exercised.
    #[serde(default)]
    pub coverage: Coverage,
    /// The number of checks of each verdict.
    pub summary: Summary,
    /// The checks by category.
    pub categories: Vec<CategoryReport>,
}

/// The number of checks of each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// All checks.
    pub total: usize,
    /// Passed checks.
    pub passed: usize,
    /// Failed checks.
    pub failed: usize,
    /// Checks with warnings.
    pub warnings: usize,
    /// Checks that were not exercised.
    pub skipped: usize,
    /// Checks that were not exercised because of findings of other checks.
    #[serde(default)]
    pub blocked: usize,
    /// Checks of features that the adapter does not have.
    pub not_applicable: usize,
}

/// The checks of one category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CategoryReport {
    /// The name.
    pub name: String,
    /// The checks.
    pub checks: Vec<CheckReport>,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The id.
    pub id: String,
    /// The checked rule.
    pub title: String,
    /// The ids of the covered requirements.
    pub requirements: Vec<String>,
    /// `MUST` or `SHOULD`.
    pub keyword: String,
    /// The conformance level of the check.
    pub level: u8,
    /// Whether only the calls of checks of level 2 have shown a failure of this check of level 1, so that it denies level 2.
    #[serde(skip)]
    pub(crate) fails_later: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// The number of passed cases.
    pub passed: usize,
    /// The number of failed cases.
    pub found: usize,
    /// The findings: one for each cause, up to a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The number of skipped cases by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, usize>,
    /// The checks whose findings made cases impossible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Obstruction>,
    /// The number of checks that the findings of this check block.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocks: usize,
    /// The reason why the check is not applicable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<String>,
    /// Whether cases were skipped that another configuration would test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The reasons of these cases.
    #[serde(skip)]
    pub(crate) partial_reasons: BTreeSet<String>,
    /// Whether the check was interrupted because the adapter stopped answering or time ran out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// Whether no case was judged because the run had called operations as often as it may. Such a check does
    /// not deny the level, but the level does not cover it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
}

/// The cases of a check that the findings of another check made impossible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Obstruction {
    /// The id of the check with the findings.
    pub check: String,
    /// The part that could not be read.
    pub why: String,
    /// The number of cases.
    pub cases: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Report {
    /// Whether the server was reached. Otherwise no check has a case.
    pub const fn is_reached(&self) -> bool {
        !self.modes.is_empty() || self.summary.skipped < self.summary.total
    }

    /// All checks.
    pub fn checks(&self) -> impl Iterator<Item = &CheckReport> {
        self.categories.iter().flat_map(|category| &category.checks)
    }
}

const fn first_version() -> u32 {
    1
}

fn first_spec_version() -> String {
    SPEC_VERSIONS.first().copied().unwrap_or_default().to_owned()
}
