//! Common parts of all report formats: the verdict in words, shortened values, and texts without control
//! characters.

use std::collections::BTreeMap;

use super::value_text::{counted, line};
use super::{CategoryReport, CheckReport, Report, Summary, Verdict};
use crate::cases::Finding;

/// The label of failed checks.
pub(super) const FAILED: &str = "failed";

/// The reason of a check without cases, if it has none.
pub(super) const NO_CASE: &str = "nothing came up to test it with";

/// The checks that were not tested for one reason.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SkippedChecks<'a> {
    /// The number of cases.
    pub(super) cases: usize,
    /// Checks without tested cases.
    pub(super) checks: Vec<&'a str>,
    /// Checks with other, tested cases.
    pub(super) in_part: Vec<&'a str>,
}

/// An obstacle to the next level with all checks that it concerns.
#[derive(Debug, PartialEq)]
pub(super) struct Obstacle {
    /// The obstacle.
    pub(super) what: String,
    /// The checks.
    pub(super) checks: Vec<String>,
}

impl Summary {
    /// Counts one more check.
    pub(super) fn count(&mut self, verdict: Verdict) {
        self.total += 1;
        *match verdict {
            Verdict::Pass => &mut self.passed,
            Verdict::Fail => &mut self.failed,
            Verdict::Warn => &mut self.warnings,
            Verdict::Skip => &mut self.skipped,
            Verdict::Blocked => &mut self.blocked,
            Verdict::NotApplicable => &mut self.not_applicable,
        } += 1;
    }

    /// Counts these checks.
    pub(super) fn of(checks: &[CheckReport]) -> Self {
        let mut summary = Self::default();
        for check in checks {
            summary.count(check.verdict);
        }
        summary
    }

    /// The counts that are not 0, the worst verdict first.
    pub(super) fn counts(&self) -> impl Iterator<Item = (Verdict, usize)> {
        [
            (Verdict::Fail, self.failed),
            (Verdict::Warn, self.warnings),
            (Verdict::Pass, self.passed),
            (Verdict::Skip, self.skipped),
            (Verdict::Blocked, self.blocked),
            (Verdict::NotApplicable, self.not_applicable),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
    }
}

impl Verdict {
    /// The words after a number of checks.
    pub(super) const fn said(self) -> &'static str {
        match self {
            Self::Pass => "passed",
            Self::NotApplicable => "not applicable",
            Self::Skip => "not tested",
            Self::Blocked => "blocked",
            Self::Warn => "with warnings",
            Self::Fail => "failed",
        }
    }

    /// The class name in the style sheet.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::NotApplicable => "na",
            Self::Skip => "skip",
            Self::Blocked => "blocked",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// "3 failed, 12 passed".
pub(super) fn counts(summary: &Summary) -> String {
    let counts = summary.counts().map(|(verdict, count)| format!("{count} {}", verdict.said()));
    counts.collect::<Vec<_>>().join(", ")
}

impl Report {
    /// The verdict in a few words.
    pub(super) fn verdict(&self) -> String {
        match (!self.is_reached(), self.conformance_level) {
            (true, _) => "nothing could be tested".to_owned(),
            (false, 0) => "no level is shown".to_owned(),
            (false, level) if self.left_out.is_empty() => format!("level {level} is shown"),
            (false, level) => {
                format!("level {level} is shown, but for what is left out")
            }
        }
    }

    /// The verdict in one line with the counts or the reason.
    pub(super) fn headline(&self) -> String {
        let verdict = self.verdict();
        let mut characters = verdict.chars();
        let first: String = characters.next().into_iter().flat_map(char::to_uppercase).collect();
        let verdict = format!("{first}{}", characters.as_str());
        match self.obstacles.as_slice() {
            why if !self.is_reached() => format!("{verdict}: {}", line(&why.join("; "))),
            _ if self.summary.total == 0 => verdict,
            _ => {
                let total = counted(self.summary.total, "check");
                format!("{verdict}. Of {total}: {}", counts(&self.summary))
            }
        }
    }

    /// The target, the modes and the duration.
    pub(super) fn circumstances(&self) -> String {
        let modes: Vec<_> = self.modes.iter().map(ToString::to_string).collect();
        let modes = match modes.as_slice() {
            [] => String::new(),
            [one] => format!(", in {one} mode"),
            several => format!(", in {} mode", several.join(" and ")),
        };
        let seconds = self.seconds();
        format!("MCP-AQL {}{modes}, {seconds} s", line(&self.spec_version))
    }

    /// The duration in seconds with two decimals.
    pub(super) fn seconds(&self) -> String {
        format!("{}.{:02}", self.duration_ms / 1000, self.duration_ms % 1000 / 10)
    }

    /// The tested categories; none if the adapter was not reached.
    pub(super) fn tested(&self) -> &[CategoryReport] {
        if self.is_reached() { &self.categories } else { &[] }
    }

    /// The counts of the tested checks.
    pub(super) fn tested_summary(&self) -> Summary {
        if self.is_reached() { self.summary } else { Summary::default() }
    }

    /// The next requested level that was not achieved.
    pub(super) fn next_level(&self) -> Option<u8> {
        (self.conformance_level < self.requested_level).then_some(self.conformance_level + 1)
    }

    /// The obstacles to the next level, grouped by kind.
    pub(super) fn missing(&self) -> Vec<Obstacle> {
        let next = self.next_level().filter(|_| self.is_reached());
        let Some(next) = next else { return Vec::new() };
        let mut missing: Vec<Obstacle> = Vec::new();
        for obstacle in &self.obstacles {
            let (what, check) = match split_obstacle(obstacle, next) {
                Some(split) => split,
                None => continue,
            };
            match missing.iter_mut().find(|missing| missing.what == what) {
                Some(missing) => missing.checks.extend(check),
                None => missing.push(Obstacle { what, checks: check.into_iter().collect() }),
            }
        }
        missing.sort_by_key(|missing| missing.what != FAILED);
        missing
    }

    /// The lists of the report with their headings.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &Vec<String>)> {
        [("Left out", &self.left_out), ("Left behind", &self.left_behind)]
            .into_iter()
            .filter(|(_, lines)| !lines.is_empty())
    }

    /// The checks with findings: failures first, and of them those that block the most checks.
    pub(super) fn found(&self) -> impl Iterator<Item = &CheckReport> {
        let of = |verdict| {
            let mut checks: Vec<_> =
                self.checks().filter(|check| check.verdict == verdict).collect();
            checks.sort_by_key(|check| std::cmp::Reverse(check.blocks));
            checks
        };
        of(Verdict::Fail).into_iter().chain(of(Verdict::Warn))
    }

    /// The blocked checks by the check with the cause.
    pub(super) fn blocked(&self) -> BTreeMap<(&str, &str), Vec<&str>> {
        let mut blocked: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for check in self.checks().filter(|check| check.verdict == Verdict::Blocked) {
            for cause in &check.blocked_by {
                let same = blocked.iter_mut().find(|((id, _), _)| *id == cause.check);
                match same {
                    Some((_, checks)) => checks.push(&check.id),
                    None => {
                        blocked.insert((&cause.check, &cause.why), vec![&check.id]);
                    }
                }
            }
        }
        blocked
    }

    /// The skipped cases by reason.
    pub(super) fn not_tested(&self) -> BTreeMap<String, SkippedChecks<'_>> {
        let mut left_out: BTreeMap<String, SkippedChecks<'_>> = BTreeMap::new();
        for check in self.tested().iter().flat_map(|category| &category.checks) {
            for (why, cases) in &check.skipped {
                let entry = left_out.entry(line(why)).or_default();
                entry.cases += cases;
                match check.verdict {
                    Verdict::Skip => entry.checks.push(&check.id),
                    _ => entry.in_part.push(&check.id),
                }
            }
            if check.verdict == Verdict::Skip && check.skipped.is_empty() {
                let entry = left_out.entry(NO_CASE.to_owned());
                entry.or_default().checks.push(&check.id);
            }
        }
        left_out
    }
}

impl CheckReport {
    /// The source of a check: "REQ-EPT-03, MUST, level 1".
    pub(super) fn source(&self) -> String {
        let requirements = self.requirements.join(" ");
        line(&format!("{requirements}, {}, level {}", self.keyword, self.level))
    }

    /// The count of failed cases: "2 of 7 cases".
    pub(super) fn tally(&self) -> String {
        let total = self.found + self.passed;
        format!("{} of {} not as it should be", self.found, counted(total, "case"))
    }

    /// "blocks 23 checks", if the findings block any.
    pub(super) fn blocks_note(&self) -> Option<String> {
        (self.blocks > 0).then(|| format!("blocks {}", counted(self.blocks, "check")))
    }

    /// The findings with their modes. Equal findings of both modes are merged.
    pub(super) fn merged_findings(&self) -> Vec<(&Finding, String)> {
        let mut reported: Vec<(&Finding, Vec<String>)> = Vec::new();
        for finding in &self.findings {
            let mode = finding.mode.as_deref().map(line);
            let same = reported.iter_mut().find(|(first, modes)| {
                let is_other_mode = mode.as_ref().is_some_and(|mode| !modes.contains(mode));
                let of = |finding: &Finding| {
                    [&finding.subject, &finding.expected, &finding.mend].map(Clone::clone)
                };
                is_other_mode && of(first) == of(finding)
            });
            match same {
                Some((_, modes)) => modes.extend(mode),
                None => reported.push((finding, mode.into_iter().collect())),
            }
        }
        let named = |modes: Vec<String>| match modes.as_slice() {
            [] => String::new(),
            modes => format!(" ({} mode)", modes.join(" and ")),
        };
        reported.into_iter().map(|(finding, modes)| (finding, named(modes))).collect()
    }

    /// A note about findings that are not listed.
    pub(super) fn omitted_note(&self) -> Option<String> {
        let more = self.found.saturating_sub(self.findings.len());
        (more > 0).then(|| format!("… and {}", counted(more, "more finding")))
    }

    /// The reason why the check was tested in part.
    pub(super) fn why_in_part(&self) -> String {
        let is_end = |why: &&String| why.starts_with("cut short: ") == self.cut_short;
        let why = self.skipped.keys().find(is_end).or(self.skipped.keys().next());
        why.cloned().unwrap_or_default()
    }

    /// The reason why the check was not tested.
    pub(super) fn why_not(&self) -> String {
        if let Some(why) = &self.not_applicable {
            return format!("not applicable: {}", line(why));
        }
        if self.verdict == Verdict::Blocked {
            let causes = self.blocked_by.iter();
            let causes =
                causes.map(|by| format!("blocked by {}: {}", line(&by.check), line(&by.why)));
            return causes.collect::<Vec<_>>().join("; ");
        }
        let why: Vec<_> = self.skipped.keys().map(|why| line(why)).collect();
        if why.is_empty() { NO_CASE.to_owned() } else { why.join("; ") }
    }
}

/// Splits an obstacle of this level into its kind and the check. Returns `None` for other levels.
fn split_obstacle(obstacle: &str, level: u8) -> Option<(String, Option<String>)> {
    let Some(rest) = obstacle.strip_prefix("level ") else {
        return Some((line(obstacle), None));
    };
    let rest = rest.strip_prefix(&format!("{level}: "))?;
    for (between, said) in
        [(" was not tested: ", "not tested"), (" was tested in part: ", "tested in part")]
    {
        if let Some((check, why)) = rest.split_once(between) {
            return Some((format!("{said}: {}", line(why)), Some(line(check))));
        }
    }
    match rest.strip_suffix(" failed") {
        Some(check) => Some((FAILED.to_owned(), Some(line(check)))),
        None => Some((line(rest), None)),
    }
}
