//! Compares two reports.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde::Serialize;

use super::value_text::{counted, line};
use super::{CheckReport, Report};
use crate::finding::Finding;

/// The differences between an older and a newer report. Use it in CI to detect regressions.
///
/// ```no_run
/// use mcp_aql_conformance::{Report, report::Diff};
///
/// let read = |file| std::fs::read_to_string(file).unwrap();
/// let old = Report::from_json(&read("old.json")).unwrap();
/// let new = Report::from_json(&read("new.json")).unwrap();
/// let diff = Diff::of(&old, &new);
/// assert!(!diff.is_worse(), "{}", diff.text());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// Level of the older report, or `None` for an interrupted run or a run of selected checks.
    pub old_level: Option<u8>,
    /// Level of the newer report, or `None` as for `old_level`.
    pub new_level: Option<u8>,
    /// The lower of the two requested levels. The levels of the reports are compared up to this one.
    pub compared_level: u8,
    /// Findings in the newer report only.
    pub new: Vec<DiffEntry>,
    /// Findings with more cases in the newer report. A run with more permissions tests more cases.
    pub more_cases: Vec<DiffEntry>,
    /// Findings in the older report only, if the newer run exercised their check.
    pub fixed: Vec<DiffEntry>,
    /// Findings in both reports.
    pub unchanged: Vec<DiffEntry>,
    /// Checks exercised by the older run but not by the newer one. Checks not selected for the newer run are not
    /// listed.
    pub no_longer_exercised: Vec<String>,
}

/// A compared finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffEntry {
    /// Id of the check.
    pub check: String,
    /// Verdict of the check: `FAIL` or `WARN`.
    pub verdict: String,
    /// Cause of the finding.
    pub cause: String,
    /// Subject of the first case.
    pub subject: String,
    /// Expected value.
    pub expected: String,
    /// Number of cases in the older report.
    pub old_cases: usize,
    /// Number of cases in the newer report.
    pub new_cases: usize,
}

impl DiffEntry {
    fn new(check: &CheckReport, finding: &Finding, old_cases: usize, new_cases: usize) -> Self {
        Self {
            check: check.id.clone(),
            verdict: check.verdict.as_str().to_owned(),
            cause: finding.cause.clone(),
            subject: finding.subject.clone(),
            expected: finding.expected.clone(),
            old_cases,
            new_cases,
        }
    }
}

impl Diff {
    /// Compares two reports. Only checks selected for both runs are compared.
    pub fn of(old: &Report, new: &Report) -> Self {
        let mut diff = Self {
            old_level: old.level(),
            new_level: new.level(),
            compared_level: old.requested_level.min(new.requested_level),
            new: Vec::new(),
            more_cases: Vec::new(),
            fixed: Vec::new(),
            unchanged: Vec::new(),
            no_longer_exercised: Vec::new(),
        };
        for check in new.checks() {
            let before = old.checks().find(|before| before.id == check.id);
            diff.compare_findings(before, check);
        }
        for before in old.checks() {
            // A missing check was not selected for the newer run, or is unknown to its runner.
            if let Some(after) = new.checks().find(|after| after.id == before.id) {
                diff.add_fixed(before, after);
            }
        }
        diff
    }

    fn compare_findings(&mut self, before: Option<&CheckReport>, after: &CheckReport) {
        let known = before.map_or(&[][..], |before| &before.findings);
        for finding in &after.findings {
            let old = known.iter().find(|old| old.cause == finding.cause);
            let old_cases = old.map_or(0, |old| old.count);
            let entry = DiffEntry::new(after, finding, old_cases, finding.count);
            match old {
                Some(old) if finding.count <= old.count => self.unchanged.push(entry),
                Some(_) => self.more_cases.push(entry),
                None => self.new.push(entry),
            }
        }
    }

    fn add_fixed(&mut self, before: &CheckReport, after: &CheckReport) {
        if before.is_exercised() && !after.is_exercised() {
            self.no_longer_exercised.push(before.id.clone());
            return;
        }
        for finding in &before.findings {
            if !after.findings.iter().any(|it| it.cause == finding.cause) {
                self.fixed.push(DiffEntry::new(before, finding, finding.count, 0));
            }
        }
    }

    /// Returns `true` if the newer report is worse: it has a lower level, new findings or cases, or checks that are no
    /// longer exercised.
    pub fn is_worse(&self) -> bool {
        self.change_of_level() == Some(Ordering::Less)
            || !self.new.is_empty()
            || !self.more_cases.is_empty()
            || !self.no_longer_exercised.is_empty()
    }

    /// Compares the newer level with the older one, if both runs have a level.
    fn change_of_level(&self) -> Option<Ordering> {
        let (old, new) = (self.old_level?, self.new_level?);
        Some(new.min(self.compared_level).cmp(&old.min(self.compared_level)))
    }

    /// Describes the change of the level.
    fn levels(&self) -> String {
        let level = |level: Option<u8>| level.map_or("none".to_owned(), |level| level.to_string());
        let (old, new) = (self.old_level, self.new_level);
        let change = match self.change_of_level() {
            None => "not compared: selected checks and interrupted runs have no level",
            Some(Ordering::Less) => "lower",
            Some(Ordering::Equal) if old != new => {
                return format!(
                    "Level: {} before, {} now (unchanged up to level {}, which both runs requested)",
                    level(old),
                    level(new),
                    self.compared_level
                );
            }
            Some(Ordering::Equal) => "unchanged",
            Some(Ordering::Greater) => "higher",
        };
        format!("Level: {} before, {} now ({change})", level(old), level(new))
    }

    /// Renders the comparison as plain lines.
    pub fn text(&self) -> String {
        let mut out = self.levels();
        out.push('\n');
        for (heading, entries) in [
            ("New", &self.new),
            ("More cases", &self.more_cases),
            ("Fixed", &self.fixed),
            ("Unchanged", &self.unchanged),
        ] {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{heading}: {}", counted(entries.len(), "finding"));
            for entry in entries {
                let cases = match (entry.old_cases, entry.new_cases) {
                    (0, new) => counted(new, "case"),
                    (old, 0) => counted(old, "case"),
                    (old, new) if old == new => counted(new, "case"),
                    (old, new) => format!("{old} → {}", counted(new, "case")),
                };
                let _ = writeln!(
                    out,
                    "  {}  {}  {}: expected {} ({cases})",
                    line(&entry.verdict),
                    line(&entry.check),
                    line(&entry.subject),
                    line(&entry.expected)
                );
            }
        }
        if !self.no_longer_exercised.is_empty() {
            let _ = writeln!(out, "No longer exercised:");
            for check in &self.no_longer_exercised {
                let _ = writeln!(out, "  {}", line(check));
            }
        }
        out
    }
}
