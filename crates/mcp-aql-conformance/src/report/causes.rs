//! Groups findings by cause: cases with the same cause are one entry, even across checks.

use std::collections::BTreeMap;

use super::value_text::{counted, line};
use super::{CheckReport, Report, Verdict};
use crate::finding::Finding;

/// Maximum number of names in a list of subjects.
const MAX_SUBJECTS: usize = 5;

/// A cause with its first finding.
#[derive(Debug)]
pub(super) struct Cause<'a> {
    /// Number of the cause in the report, starting at 1.
    pub(super) number: usize,
    pub(super) finding: &'a Finding,
    /// Further checks with findings of the same cause.
    pub(super) also: Vec<(&'a CheckReport, &'a Finding)>,
}

/// A check with the causes that it found first.
#[derive(Debug)]
pub(super) struct FoundCheck<'a> {
    pub(super) check: &'a CheckReport,
    pub(super) causes: Vec<Cause<'a>>,
    /// Checks that could not be tested because of these findings.
    pub(super) blocks: Vec<&'a str>,
}

impl Report {
    /// Returns the checks with findings outside the baseline.
    ///
    /// Failures come before warnings, and findings that block other checks before the rest.
    pub(super) fn found(&self) -> Vec<FoundCheck<'_>> {
        self.causes(|check| !check.is_accepted())
    }

    /// Returns the checks with findings accepted by a baseline.
    pub(super) fn accepted(&self) -> Vec<FoundCheck<'_>> {
        self.causes(CheckReport::is_accepted)
    }

    fn causes(&self, is_wanted: impl Fn(&CheckReport) -> bool) -> Vec<FoundCheck<'_>> {
        let has_findings =
            |check: &&CheckReport| matches!(check.verdict, Verdict::Fail | Verdict::Warn);
        let wanted = self.checks().filter(has_findings).filter(|check| is_wanted(check));
        let mut wanted: Vec<_> = wanted.map(|check| (check, self.blocked_by(check))).collect();
        wanted.sort_by_key(|(check, blocks)| {
            (check.verdict != Verdict::Fail, std::cmp::Reverse(blocks.len()))
        });
        let mut found: Vec<FoundCheck<'_>> = Vec::new();
        let mut number = 0;
        for (check, blocks) in wanted {
            let mut causes = Vec::new();
            for finding in &check.findings {
                let known = found.iter_mut().flat_map(|earlier| &mut earlier.causes);
                let is_same = |cause: &&mut Cause<'_>| {
                    !finding.cause.is_empty() && cause.finding.cause == finding.cause
                };
                match known.into_iter().find(is_same) {
                    Some(cause) => cause.also.push((check, finding)),
                    None => {
                        number += 1;
                        causes.push(Cause { number, finding, also: Vec::new() });
                    }
                }
            }
            if !causes.is_empty() || check.findings.is_empty() || check.unrecorded() > 0 {
                found.push(FoundCheck { check, causes, blocks });
            }
        }
        found
    }

    /// Returns the numbers of the causes by check.
    pub(super) fn cause_numbers(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut numbers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for FoundCheck { check, causes, .. } in self.found() {
            for Cause { number, also, .. } in causes {
                let checks = std::iter::once(check).chain(also.into_iter().map(|(check, _)| check));
                for check in checks {
                    let of_check = numbers.entry(&check.id).or_default();
                    if !of_check.contains(&number) {
                        of_check.push(number);
                    }
                }
            }
        }
        numbers
    }

    /// Returns the ids of the checks blocked by findings of this check.
    fn blocked_by(&self, by: &CheckReport) -> Vec<&str> {
        let blocked =
            self.checks().filter(|check| check.blocked_by.iter().any(|it| it.check == by.id));
        blocked.map(|check| check.id.as_str()).collect()
    }
}

impl CheckReport {
    /// Returns the number of failed cases without a recorded finding.
    pub(super) fn unrecorded(&self) -> usize {
        let recorded: usize = self.findings.iter().map(|finding| finding.count).sum();
        self.found.saturating_sub(recorded)
    }

    /// Returns a note about failed cases without a recorded finding.
    pub(super) fn unrecorded_note(&self) -> Option<String> {
        let more = self.unrecorded();
        (more > 0).then(|| format!("… and {} without details", counted(more, "more failed case")))
    }
}

impl Finding {
    /// Returns the modes with the finding, for example " (semantic and single mode)".
    pub(super) fn in_modes(&self) -> String {
        match self.modes.as_slice() {
            [] => String::new(),
            modes => {
                let modes: Vec<_> = modes.iter().map(|mode| line(mode)).collect();
                format!(" ({} mode)", modes.join(" and "))
            }
        }
    }

    /// Describes the other cases with the same cause, for example "and 75 alike: `a`, `b` and others".
    pub(super) fn others(&self) -> Option<String> {
        let more = self.count.saturating_sub(1);
        if more == 0 || (self.alike.is_empty() && more < self.modes.len()) {
            return None;
        }
        let names: Vec<_> = self.alike.iter().take(MAX_SUBJECTS).map(|it| line(it)).collect();
        let is_all = names.len() == self.alike.len();
        let names = match (names.is_empty(), is_all) {
            (true, _) => String::new(),
            (false, true) => format!(": {}", names.join(", ")),
            (false, false) => format!(": {}, …", names.join(", ")),
        };
        Some(format!("and {} alike{names}", counted(more, "more case")))
    }
}
