//! Baselines: findings and obstacles of a known state that later runs accept.

use serde::{Deserialize, Serialize};

use super::obstacles::Obstacle;
use super::{CheckReport, Report, Verdict};

/// The version of the form of baselines.
const BASELINE_VERSION: u32 = 1;

/// The findings and obstacles that a run accepts: they are listed, but do not decide the exit code.
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
    /// The version of the baseline's form.
    pub baseline_version: u32,
    /// The accepted findings.
    pub findings: Vec<AcceptedFinding>,
    /// The accepted obstacles to the level: checks that were not tested, or in part, and other reasons.
    #[serde(default)]
    pub obstacles: Vec<String>,
}

/// An accepted finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptedFinding {
    /// The id of the check.
    pub check: String,
    /// The cause, as in the report.
    pub cause: String,
    /// The maximum number of accepted cases. More cases are a new finding.
    pub cases: usize,
    /// The subject of the first case, for readers.
    pub subject: String,
    /// The expected value, for readers.
    pub expected: String,
    /// The reason for accepting the finding, for readers.
    #[serde(default)]
    pub reason: String,
}

impl Baseline {
    /// Accepts all findings of a report, and all obstacles to its level.
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

    /// Reads a baseline from JSON.
    ///
    /// # Errors
    /// If the text is not a baseline, or one of a later version.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let baseline: Self = serde_json::from_str(text)?;
        if baseline.baseline_version != BASELINE_VERSION {
            return Err(serde::de::Error::custom(format!(
                "its `baselineVersion` is {}, and this version of the runner reads {BASELINE_VERSION}",
                baseline.baseline_version
            )));
        }
        Ok(baseline)
    }

    fn accepted(&self, check: &str, cause: &str) -> Option<&AcceptedFinding> {
        self.findings.iter().find(|it| it.check == check && it.cause == cause)
    }
}

impl Report {
    /// Marks the findings and the obstacles that the baseline accepts, and notes accepted findings that no
    /// longer occur.
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
