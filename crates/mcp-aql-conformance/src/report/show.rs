//! Common parts of all report formats: the verdict in words, shortened values, and strings without control characters.

use std::collections::BTreeMap;

use super::alike::merge_alike;
use super::value_text::{counted, line};
use super::{CategoryReport, CheckReport, Report, Summary, Verdict};
use crate::finding::{Difference, Finding, NO_SUCH_MEMBER};
use crate::requirements::{RequirementSource, requirement};

/// Maximum length of a value in a sentence, in characters.
const MAX_INLINE_CHARS: usize = 120;

/// Heading of the parts of the server outside the run.
pub(super) const OUTSIDE_RUN: &str = "Not part of the run";

/// Label of failed checks.
pub(super) const FAILED: &str = "failed";

/// Reason shown for a check with no cases that gives no reason.
pub(super) const NO_CASE: &str = "no reply contained what this check needs";

/// The checks left untested for one reason.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SkippedChecks<'a> {
    /// Number of skipped cases.
    pub(super) cases: usize,
    /// Checks without tested cases.
    pub(super) checks: Vec<&'a str>,
    /// Checks with other, tested cases.
    pub(super) in_part: Vec<&'a str>,
}

/// The checks of an area that do not apply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotApplicableArea {
    /// Name of the area.
    pub(super) name: String,
    /// Number of checks.
    pub(super) checks: usize,
    /// Most frequent reason.
    pub(super) reason: String,
    /// Number of further reasons.
    pub(super) more_reasons: usize,
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

    /// Returns the counts above 0, the worst verdict first.
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
    /// Returns the words that follow a number of checks.
    pub(super) const fn said(self) -> &'static str {
        match self {
            Self::Pass => "passed",
            Self::NotApplicable => "not applicable",
            Self::Skip => "not exercised",
            Self::Blocked => "blocked by other findings",
            Self::Warn => "with warnings",
            Self::Fail => "failed",
        }
    }

    /// Returns the class name in the style sheet.
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

/// Lists the counts, for example "3 failed, 12 passed".
pub(super) fn counts(summary: &Summary) -> String {
    let counts = summary.counts().map(|(verdict, count)| format!("{count} {}", verdict.said()));
    counts.collect::<Vec<_>>().join(", ")
}

impl Report {
    /// Describes the verdict in a few words, for example "Level 2 granted".
    pub(super) fn verdict(&self) -> String {
        match (!self.is_reached(), self.conformance_level) {
            (true, _) => "Nothing could be tested".to_owned(),
            (false, _) if self.interrupted => "Interrupted, no level granted".to_owned(),
            (false, _) if self.is_subset() => {
                format!("Only selected checks were run ({})", line(&self.selection.join(", ")))
            }
            (false, 0) => "No level granted".to_owned(),
            (false, level) => {
                let sample = if self.sampled { " for a sample of the operations" } else { "" };
                let except = match self.left_out.is_empty() {
                    true => "",
                    false => ", except for what was left out",
                };
                format!("Level {level} granted{sample}{except}")
            }
        }
    }

    /// Describes the verdict in one line with the counts or the reason.
    pub(super) fn headline(&self) -> String {
        let verdict = self.verdict();
        match self.obstacles.as_slice() {
            why if !self.is_reached() => format!("{verdict}: {}", line(&why.join("; "))),
            _ if self.summary.total == 0 => verdict,
            _ => {
                let (total, percent) =
                    (counted(self.summary.total, "check"), self.coverage.percent);
                format!("{verdict}, {percent} % exercised. Of {total}: {}", counts(&self.summary))
            }
        }
    }

    /// Returns remarks on the run as a whole.
    pub(super) fn remarks(&self) -> Vec<String> {
        if !self.is_reached() {
            return Vec::new();
        }
        let mut remarks = vec![self.coverage_in_words()];
        let (stated, tested) = (line(&self.spec_version), line(&self.tested_spec_version));
        if stated == "unknown" {
            remarks.push(format!(
                "The adapter does not state a version of the protocol; it was tested against {tested}"
            ));
        } else if stated != tested {
            remarks.push(format!(
                "The adapter states version {stated} of the protocol, but was tested against {tested}"
            ));
        }
        let accepted = self.checks().filter(|check| check.is_accepted()).count();
        if accepted > 0 {
            let checks = counted(accepted, "check");
            remarks.push(format!("The baseline accepts the findings of {checks}"));
        }
        remarks
    }

    /// Describes the protocol version, the modes and the duration.
    pub(super) fn circumstances(&self) -> String {
        let modes: Vec<_> = self.modes.iter().map(ToString::to_string).collect();
        let modes = match modes.as_slice() {
            [] => String::new(),
            [one] => format!(", in {one} mode"),
            several => format!(", in {} mode", several.join(" and ")),
        };
        let seconds = self.seconds();
        format!("MCP-AQL {}{modes}, {seconds} s", line(&self.tested_spec_version))
    }

    /// Returns the duration in seconds with two decimals.
    pub(super) fn seconds(&self) -> String {
        format!("{}.{:02}", self.duration_ms / 1000, self.duration_ms % 1000 / 10)
    }

    /// Returns the tested categories. The slice is empty if the adapter was not reached.
    pub(super) fn tested(&self) -> &[CategoryReport] {
        if !self.is_reached() { &[] } else { &self.categories }
    }

    /// Returns the counts of the tested checks.
    pub(super) fn tested_summary(&self) -> Summary {
        if !self.is_reached() { Summary::default() } else { self.summary }
    }

    /// Returns the skipped cases by reason.
    pub(super) fn not_tested<'a>(&'a self) -> Vec<(String, SkippedChecks<'a>)> {
        let mut left_out: BTreeMap<String, SkippedChecks<'a>> = BTreeMap::new();
        for check in self.tested().iter().flat_map(|category| &category.checks) {
            for (why, cases) in &check.skipped {
                let entry = left_out.entry(line(why)).or_default();
                entry.cases += cases;
                match check.verdict {
                    Verdict::Skip | Verdict::Blocked => entry.checks.push(&check.id),
                    _ => entry.in_part.push(&check.id),
                }
            }
            for by in &check.blocked_by {
                let why = format!("blocked by {}: {}", line(&by.check), line(&by.why));
                let entry = left_out.entry(why).or_default();
                entry.cases += by.cases;
                match check.verdict {
                    Verdict::Blocked => entry.checks.push(&check.id),
                    _ => entry.in_part.push(&check.id),
                }
            }
            if check.verdict == Verdict::Skip && check.skipped.is_empty() {
                let entry = left_out.entry(NO_CASE.to_owned());
                entry.or_default().checks.push(&check.id);
            }
        }
        let merge = |first: &mut SkippedChecks<'a>, other: SkippedChecks<'a>| {
            let is_alike = (&first.checks, &first.in_part) == (&other.checks, &other.in_part);
            first.cases += if is_alike { other.cases } else { 0 };
            (!is_alike).then_some(other)
        };
        merge_alike(left_out, merge)
    }

    /// Returns the areas with checks that do not apply.
    pub(super) fn not_applicable_areas(&self) -> Vec<NotApplicableArea> {
        let of_area = |category: &CategoryReport| {
            let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
            for why in category.checks.iter().filter_map(|check| check.not_applicable.as_deref()) {
                *reasons.entry(why).or_default() += 1;
            }
            let (reason, _) = reasons.iter().max_by_key(|(_, count)| **count)?;
            Some(NotApplicableArea {
                name: line(&category.name),
                checks: reasons.values().sum(),
                reason: line(reason),
                more_reasons: reasons.len() - 1,
            })
        };
        self.tested().iter().filter_map(of_area).collect()
    }

    /// Returns the checks that do not apply, by reason.
    pub(super) fn not_applicable(&self) -> BTreeMap<String, Vec<&str>> {
        let mut checks: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for check in self.checks() {
            if let Some(why) = &check.not_applicable {
                checks.entry(line(why)).or_default().push(&check.id);
            }
        }
        checks
    }
}

impl CheckReport {
    /// Describes the source of a check, for example "REQ-EPT-03, MUST, level 1".
    pub(super) fn source(&self) -> String {
        let requirements = self.requirements.join(" ");
        line(&format!("{requirements}, {}, level {}", self.keyword, self.level))
    }

    /// Describes the number of failed cases, for example "2 of 7 cases failed".
    pub(super) fn tally(&self) -> String {
        let total = self.found + self.passed;
        format!("{} of {} failed", self.found, counted(total, "case"))
    }

    /// Returns the sources of the requirements in the specification.
    pub(super) fn sources(&self) -> impl Iterator<Item = RequirementSource> {
        self.requirements.iter().filter_map(|id| requirement(id))
    }

    /// Returns the reasons why the check was tested in part. If the run ended early, returns only that reason.
    pub(super) fn why_in_part(&self) -> Vec<String> {
        let is_end = |why: &&String| why.starts_with("cut short: ");
        let ends: Vec<_> = self.skipped.keys().filter(is_end).cloned().collect();
        match ends.is_empty() {
            true if self.partial_reasons.is_empty() => {
                self.skipped.keys().take(1).cloned().collect()
            }
            true => self.partial_reasons.iter().cloned().collect(),
            false => ends,
        }
    }

    /// Returns the reason why the check was not tested.
    pub(super) fn why_not(&self) -> String {
        if let Some(why) = &self.not_applicable {
            return format!("not applicable: {}", line(why));
        }
        let causes = self.blocked_by.iter();
        let causes = causes.map(|by| format!("blocked by {}: {}", line(&by.check), line(&by.why)));
        let skipped = self.skipped.keys().map(|why| line(why));
        let why: Vec<_> = causes.chain(skipped).collect();
        if why.is_empty() { NO_CASE.to_owned() } else { why.join("; ") }
    }
}

impl Finding {
    /// Returns the expected value, unless it only repeats the differences.
    pub(super) fn expected_beside_differences(&self) -> Option<&str> {
        let repeats = self.expected.starts_with("`/") || self.expected.starts_with("the value ");
        (self.differences.is_empty() || !repeats).then_some(self.expected.as_str())
    }
}

impl Difference {
    /// Describes the difference in a sentence with code, for example "`/error` is missing; expected an object".
    pub(super) fn sentence(&self) -> String {
        let (path, expected) = (line(&self.path), line(&self.expected));
        let path = if path.is_empty() { "the value".to_owned() } else { format!("`{path}`") };
        match &self.received {
            None => format!("{path} is missing; expected {expected}"),
            Some(_) if expected == NO_SUCH_MEMBER => format!("{path} is not allowed here"),
            Some(received) => {
                let received = received.to_string();
                let mut shown: String = received.chars().take(MAX_INLINE_CHARS).collect();
                if shown.len() < received.len() {
                    shown.push('…');
                }
                format!("{path}: expected {expected}; received {}", line(&shown))
            }
        }
    }
}
