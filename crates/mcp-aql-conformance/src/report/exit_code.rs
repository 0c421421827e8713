//! The exit code of a report.

use super::obstacles::Obstacle;
use super::{CheckReport, Report, Verdict};

/// The exit code of an interrupted run: 128 + SIGINT, the convention of shells.
const INTERRUPTED_CODE: u8 = 130;

impl CheckReport {
    /// Whether the check has findings, and a baseline accepts all of them.
    pub(super) fn is_accepted(&self) -> bool {
        let recorded: usize = self.findings.iter().map(|finding| finding.count).sum();
        !self.findings.is_empty()
            && recorded >= self.found
            && self.findings.iter().all(|finding| finding.accepted.is_some())
    }
}

impl Report {
    /// The exit code (REQ-CNF-12): 0 if the requested level is granted, or if the selected checks pass; 1 if
    /// a MUST failed; 2 if there are only warnings, or if something that the level requires was not
    /// exercised. Findings and obstacles that a baseline accepts do not count. The code of an interrupted run
    /// is 130 in any case.
    pub fn exit_code(&self) -> u8 {
        if self.interrupted {
            return INTERRUPTED_CODE;
        }
        let has =
            |verdict| self.checks().any(|check| check.verdict == verdict && !check.is_accepted());
        if !self.is_reached() || has(Verdict::Fail) {
            return 1;
        }
        let is_incomplete = match self.is_subset() {
            true => self.is_subset_untested(),
            false => self.open_obstacles().next().is_some(),
        };
        if has(Verdict::Warn) || is_incomplete { 2 } else { 0 }
    }

    /// The granted level, unless the run could grant none because it was interrupted or selected checks.
    pub(super) fn level(&self) -> Option<u8> {
        (!self.is_subset() && !self.interrupted).then_some(self.conformance_level)
    }

    /// Whether only selected checks were run.
    pub(super) fn is_subset(&self) -> bool {
        !self.selection.is_empty()
    }

    /// Whether no selected check was exercised, although one applies.
    fn is_subset_untested(&self) -> bool {
        let applies = |check: &CheckReport| check.verdict != Verdict::NotApplicable;
        self.checks().any(applies) && !self.checks().any(CheckReport::is_exercised)
    }

    /// The obstacles to the requested level that no baseline accepts.
    pub(super) fn open_obstacles(&self) -> impl Iterator<Item = Obstacle<'_>> {
        let is_missing = self.conformance_level < self.requested_level;
        let obstacles = self.obstacles.iter().map(|text| Obstacle::parse(text));
        obstacles.filter(move |obstacle| is_missing && !self.accepts(obstacle))
    }

    /// The obstacles that no baseline accepts, as they are in [`Report::obstacles`].
    pub fn unaccepted_obstacles(&self) -> impl Iterator<Item = &str> {
        let obstacles = self.obstacles.iter().map(String::as_str);
        obstacles.filter(|text| !self.accepts(&Obstacle::parse(text)))
    }

    fn accepts(&self, obstacle: &Obstacle<'_>) -> bool {
        let of_check = |id: &str| self.checks().find(|check| check.id == id);
        match obstacle.check.and_then(of_check) {
            Some(check) if check.found > 0 => check.is_accepted(),
            _ => self.accepted_obstacles.iter().any(|accepted| obstacle.is_accepted_as(accepted)),
        }
    }
}
