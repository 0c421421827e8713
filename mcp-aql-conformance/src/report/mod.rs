//! The report of a run: the results of each check and the conformance level.

mod badge;
mod html;
mod junit;
mod markdown;
mod show;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::adapter::Adapter;
use crate::cases::{CaseResults, Finding, Skip, shorten_message};
use crate::category::Mode;
use crate::checks::{self, Check, Keyword};
use crate::config::Settings;
use crate::learn::LearnError;
use crate::results::RunResults;
use crate::secrets::Secrets;

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
    /// The name of the server.
    pub implementation: String,
    /// The version of the server.
    pub version: String,
    /// The version of the protocol that the adapter states and the checks cover.
    pub spec_version: String,
    /// The target, as a URL or a command.
    pub target: String,
    /// The version of the runner.
    pub runner: String,
    /// The requested level.
    pub requested_level: u8,
    /// The achieved level: 0, 1 or 2.
    pub conformance_level: u8,
    /// Operations and checks that the configuration excludes, with the reasons. The level does not cover
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The reasons why the level is not higher.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub obstacles: Vec<String>,
    /// The tested modes.
    pub modes: Vec<Mode>,
    /// Items that the run created and could not remove, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// The duration of the run in milliseconds.
    pub duration_ms: u64,
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
    /// Checks that were not tested.
    pub skipped: usize,
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
    /// The verdict.
    pub verdict: Verdict,
    /// The number of passed cases.
    pub passed: usize,
    /// The number of failed cases; `findings` has the first ones.
    pub found: usize,
    /// The findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The number of skipped cases by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, usize>,
    /// The reason why the check is not applicable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<String>,
    /// Whether cases were skipped that another configuration would test.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Whether the check was interrupted because the adapter stopped answering or time ran out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
}

impl CheckReport {
    /// Judges the results of a check in all modes.
    fn of(check: &Check, whole: &RunResults) -> Self {
        let modes = whole
            .surfaces
            .iter()
            .filter_map(|surface| Some((Some(&surface.adapter), surface.collected.get(check.id)?)));
        let together = whole.collected.get(check.id).map(|collected| (None, collected));
        Self::judge(check, modes.chain(together))
    }

    pub(crate) fn judge<'a>(
        check: &Check,
        surfaces: impl Iterator<Item = (Option<&'a Adapter>, &'a CaseResults)>,
    ) -> Self {
        let mut report = Self {
            id: check.id.to_owned(),
            title: check.title.to_owned(),
            requirements: check.requirements.iter().map(|id| (*id).to_owned()).collect(),
            keyword: match check.keyword {
                Keyword::Must => "MUST".to_owned(),
                Keyword::Should => "SHOULD".to_owned(),
            },
            level: check.level,
            verdict: Verdict::Skip,
            passed: 0,
            found: 0,
            findings: Vec::new(),
            skipped: BTreeMap::new(),
            not_applicable: None,
            partial: false,
            cut_short: false,
        };
        // Whether another run could test skipped cases.
        let mut is_open = false;
        for (adapter, collected) in surfaces {
            let mode = adapter.map(|adapter| adapter.mode);
            report.passed += collected.passed;
            report.found += collected.found;
            report.findings.extend(
                collected
                    .findings
                    .iter()
                    .cloned()
                    .map(|finding| Finding { mode: mode.map(|mode| mode.to_string()), ..finding }),
            );
            for (why, count) in &collected.skipped {
                *report.skipped.entry(why.reason()).or_default() += count;
                report.partial |= match why {
                    // `LeftOut` is reported beside the verdict, and the others were tested with other data.
                    Skip::LeftOut(_) | Skip::Scarce(_) | Skip::Unsafe(_) => false,
                    Skip::NotAllowed(_) | Skip::CutShort(_) => true,
                    // Level 1 covers the operations that can be tested safely.
                    _ if check.level == 1 => false,
                    // An operation without required parameters selects its data itself, so that no
                    // configuration makes the call safe.
                    Skip::NotOurs(operation) => {
                        let operation = adapter.and_then(|adapter| adapter.operation(operation));
                        operation.is_none_or(|operation| operation.required().next().is_some())
                    }
                    Skip::NoFixture(_) => true,
                };
                report.cut_short |= matches!(why, Skip::CutShort(_));
                if matches!(why, Skip::Unsafe(_)) {
                    report.not_applicable.get_or_insert_with(|| why.reason());
                } else {
                    is_open = true;
                }
            }
            if let Some(why) = &collected.not_applicable {
                report.not_applicable.get_or_insert_with(|| why.clone());
            }
        }
        report.verdict = match (report.found, report.passed, !is_open) {
            (1.., ..) => match check.keyword {
                Keyword::Must => Verdict::Fail,
                Keyword::Should => Verdict::Warn,
            },
            (0, 1.., _) => Verdict::Pass,
            (0, 0, true) if report.not_applicable.is_some() => Verdict::NotApplicable,
            (0, 0, _) => Verdict::Skip,
        };
        if report.verdict == Verdict::NotApplicable {
            report.skipped.clear();
        } else {
            report.not_applicable = None;
        }
        report
    }
}

impl Report {
    pub(crate) fn judge(
        target: &str,
        settings: &Settings,
        secrets: &Secrets,
        whole: &RunResults,
    ) -> Self {
        let mut categories: Vec<CategoryReport> = Vec::new();
        let mut summary = Summary::default();
        let wanted = checks::all().filter(|check| {
            check.level <= settings.level
                && (settings.categories.is_empty()
                    || settings.categories.contains(check.category()))
        });
        for check in wanted {
            let report = CheckReport::of(check, whole);
            summary.count(report.verdict);
            let name = check.category();
            match categories.iter_mut().find(|category| category.name == name) {
                Some(category) => category.checks.push(report),
                None => {
                    categories.push(CategoryReport { name: name.to_owned(), checks: vec![report] })
                }
            }
        }
        let adapter = whole.surfaces.first().map(|surface| &surface.adapter);
        let mut report = Self {
            implementation: adapter.map_or("unknown", |adapter| adapter.name()).to_owned(),
            version: adapter.map_or("unknown", |adapter| adapter.version()).to_owned(),
            spec_version: adapter
                .and_then(|adapter| adapter.protocol().get("version")?.as_str())
                .unwrap_or("unknown")
                .to_owned(),
            target: target.to_owned(),
            runner: env!("CARGO_PKG_VERSION").to_owned(),
            requested_level: settings.level,
            conformance_level: 0,
            left_out: settings
                .file
                .skip
                .iter()
                .map(ToString::to_string)
                .chain(adapter.into_iter().flat_map(Adapter::others).map(|prefix| {
                    format!("the adapter whose tools begin with `{prefix}mcp_aql`: another one answered first")
                }))
                .collect(),
            obstacles: whole
                .unlearned
                .iter()
                .map(|(mode, why)| match mode {
                    None => why.to_string(),
                    // One mode is enough for level 1.
                    Some(_) if matches!(why, LearnError::OtherMode { .. }) => format!("level 2: {why}"),
                    Some(mode) => format!("{mode} mode: {why}"),
                })
                .collect(),
            modes: whole.surfaces.iter().map(|surface| surface.adapter.mode).collect(),
            left_behind: whole
                .surfaces
                .iter()
                .flat_map(|surface| {
                    let mode = surface.adapter.mode;
                    surface.left_behind.iter().map(move |left| format!("{mode} mode: {left}"))
                })
                .collect(),
            duration_ms: u64::try_from(whole.took.as_millis()).unwrap_or(u64::MAX),
            summary,
            categories,
        };
        report.mask(secrets);
        report.grade(settings);
        report
    }

    /// Masks secrets in the adapter's texts. The runner's own names and sentences do not contain any.
    fn mask(&mut self, secrets: &Secrets) {
        let names =
            [&mut self.implementation, &mut self.version, &mut self.spec_version, &mut self.target];
        let lists =
            self.obstacles.iter_mut().chain(&mut self.left_behind).chain(&mut self.left_out);
        for text in names.into_iter().chain(lists) {
            shorten_message(text, secrets);
            secrets.mask(text);
        }
        for check in self.categories.iter_mut().flat_map(|category| &mut category.checks) {
            check.findings.iter_mut().for_each(|finding| finding.mask(secrets));
            check.not_applicable.iter_mut().for_each(|why| secrets.mask(why));
            for (mut why, count) in std::mem::take(&mut check.skipped) {
                secrets.mask(&mut why);
                *check.skipped.entry(why).or_default() += count;
            }
        }
    }

    /// Determines the achieved level and the obstacles to a higher one.
    fn grade(&mut self, settings: &Settings) {
        if self.modes.is_empty() {
            return;
        }
        if !settings.categories.is_empty() {
            self.obstacles.push("only some of the checks were run".to_owned());
            return;
        }
        let mut granted = 0;
        for level in 1..=settings.level {
            let mut obstacles = Vec::new();
            for check in self.checks() {
                // Level 2 requires level 1 and all cases.
                let is_partial = level == 2 && check.partial;
                let is_below = check.level < level && is_partial;
                if (check.level != level && !is_below) || check.keyword != "MUST" {
                    continue;
                }
                match check.verdict {
                    Verdict::Fail => obstacles.push(format!("{} failed", check.id)),
                    Verdict::Skip => {
                        let why = check.skipped.keys().next().cloned();
                        let why = why.unwrap_or_else(|| show::NO_CASE.to_owned());
                        obstacles.push(format!("{} was not tested: {why}", check.id));
                    }
                    Verdict::Pass if check.cut_short || is_partial => {
                        obstacles.push(format!(
                            "{} was tested in part: {}",
                            check.id,
                            check.why_in_part()
                        ));
                    }
                    Verdict::Pass | Verdict::Warn | Verdict::NotApplicable => {}
                }
            }
            if level == 2 && self.modes.len() < 2 {
                obstacles.push("only one endpoint mode could be looked at".to_owned());
            }
            if obstacles.is_empty() && granted + 1 == level {
                granted = level;
            }
            self.obstacles
                .extend(obstacles.into_iter().map(|obstacle| format!("level {level}: {obstacle}")));
        }
        self.conformance_level = granted;
    }

    /// All checks.
    pub fn checks(&self) -> impl Iterator<Item = &CheckReport> {
        self.categories.iter().flat_map(|category| &category.checks)
    }

    /// The exit code (REQ-CNF-12): 0 if all checks passed, 1 if a MUST failed, 2 if there are only warnings
    /// or untested checks.
    pub fn exit_code(&self) -> u8 {
        if self.modes.is_empty() || self.summary.failed > 0 {
            1
        } else if self.summary.warnings > 0 || self.conformance_level < self.requested_level {
            2
        } else {
            0
        }
    }
}
