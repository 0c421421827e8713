//! Baselines: findings and obstacles of a known state that later runs accept.

use serde::{Deserialize, Serialize};

use super::obstacles::Obstacle;
use super::{CheckReport, Report, Verdict, check_version};

/// Version of the baseline format.
const BASELINE_VERSION: u32 = 1;

/// The findings and obstacles that you accept for later runs. Reports still list them, but they do not affect the exit
/// code.
///
/// ```no_run
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_aql_conformance::report::Baseline;
/// use mcp_aql_conformance::{CommandTarget, Runner, Settings};
///
/// let runner = Runner::new(CommandTarget::new("my-adapter", [""; 0]), Settings::default());
/// let mut report = runner.run().await;
/// let baseline = Baseline::of(&report);
/// report.accept(&baseline);
/// assert_eq!(report.exit_code(), 0);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Baseline {
    /// Version of the baseline format.
    pub baseline_version: u32,
    /// The accepted findings.
    pub findings: Vec<AcceptedFinding>,
    /// The accepted obstacles to the level: checks tested in part or not at all, and other reasons.
    #[serde(default)]
    pub obstacles: Vec<String>,
}

/// An accepted finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptedFinding {
    /// Id of the check.
    pub check: String,
    /// Cause, as in the report.
    pub cause: String,
    /// Maximum number of accepted cases. With more cases, the finding counts as new.
    pub cases: usize,
    /// Subject of the first case, for readers of the file.
    pub subject: String,
    /// Expected value, for readers of the file.
    pub expected: String,
    /// Reason for accepting the finding, for readers of the file.
    #[serde(default)]
    pub reason: String,
}

impl Baseline {
    /// Creates a baseline that accepts all findings of a report, and all obstacles to its level. You can remove entries
    /// that you do not want to accept.
    pub fn of(report: &Report) -> Self {
        let mut findings = Vec::new();
        for check in report.checks() {
            findings.extend(check.findings.iter().map(|finding| AcceptedFinding {
                check: check.id.clone(),
                cause: finding.cause.clone(),
                cases: finding.count,
                subject: finding.subject.clone(),
                expected: finding.expected.clone(),
                reason: finding.accepted.clone().unwrap_or_default(),
            }));
        }
        let is_found = |id: &str| report.checks().any(|check| check.id == id && check.found > 0);
        let obstacles = report.obstacles.iter().map(|text| Obstacle::parse(text));
        let obstacles = obstacles.filter(|it| !it.check.is_some_and(is_found));
        let mut obstacles: Vec<_> = obstacles.map(|it| it.key()).collect();
        obstacles.sort();
        obstacles.dedup();
        Self { baseline_version: BASELINE_VERSION, findings, obstacles }
    }

    /// Parses a baseline in JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the string is not a baseline, or if the baseline has another version.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let baseline: Self = serde_json::from_str(text)?;
        check_version("baselineVersion", baseline.baseline_version, BASELINE_VERSION)?;
        Ok(baseline)
    }

    fn accepted(&self, check: &str, cause: &str) -> Option<&AcceptedFinding> {
        self.findings.iter().find(|it| it.check == check && it.cause == cause)
    }
}

impl Report {
    /// Marks the findings and obstacles accepted by the baseline. Records accepted findings that no longer occur.
    pub fn accept(&mut self, baseline: &Baseline) {
        for check in self.categories.iter_mut().flat_map(|category| &mut category.checks) {
            let CheckReport { id, findings, .. } = check;
            for finding in findings {
                let accepted = baseline.accepted(id, &finding.cause);
                let accepted = accepted.filter(|accepted| finding.count <= accepted.cases);
                finding.accepted = accepted.map(|accepted| accepted.reason.clone());
            }
        }
        let is_gone = |accepted: &&AcceptedFinding| {
            let check = self.checks().find(|check| check.id == accepted.check);
            check.is_some_and(|check| {
                let occurs = check.findings.iter().any(|it| it.cause == accepted.cause);
                matches!(check.verdict, Verdict::Pass | Verdict::Fail | Verdict::Warn) && !occurs
            })
        };
        self.no_longer_found = baseline.findings.iter().filter(is_gone).cloned().collect();
        self.accepted_obstacles = baseline.obstacles.clone();
    }
}
