//! Determines the exit code of a report.

use super::obstacles::Obstacle;
use super::{CheckReport, Report, Verdict};

/// Exit code of an interrupted run: 128 + SIGINT, the convention of shells.
const INTERRUPTED_CODE: u8 = 130;

impl CheckReport {
    /// Returns `true` if the check has findings and a baseline accepts all of them.
    pub(super) fn is_accepted(&self) -> bool {
        let recorded: usize = self.findings.iter().map(|finding| finding.count).sum();
        !self.findings.is_empty()
            && recorded >= self.found
            && self.findings.iter().all(|finding| finding.accepted.is_some())
    }
}

impl Report {
    /// Returns the exit code of the command line (REQ-CNF-12).
    ///
    /// | code | meaning |
    /// |---|---|
    /// | 0 | the requested level is granted, or the selected checks pass |
    /// | 1 | a MUST failed, or the adapter was not reached |
    /// | 2 | only warnings, or something required by the level was not exercised |
    /// | 130 | the run was interrupted |
    ///
    /// Findings and obstacles accepted by a baseline do not count.
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

    /// Returns the granted level. Returns `None` for an interrupted run and for a run of selected checks.
    pub(super) fn level(&self) -> Option<u8> {
        (!self.is_subset() && !self.interrupted).then_some(self.conformance_level)
    }

    /// Returns `true` if only selected checks were run.
    pub(super) fn is_subset(&self) -> bool {
        !self.selection.is_empty()
    }

    /// Returns `true` if at least one selected check applies but none was exercised.
    fn is_subset_untested(&self) -> bool {
        let applies = |check: &CheckReport| check.verdict != Verdict::NotApplicable;
        self.checks().any(applies) && !self.checks().any(CheckReport::is_exercised)
    }

    /// Returns the obstacles to the requested level that no baseline accepts.
    pub(super) fn open_obstacles(&self) -> impl Iterator<Item = Obstacle<'_>> {
        let is_missing = self.conformance_level < self.requested_level;
        let obstacles = self.obstacles.iter().map(|text| Obstacle::parse(text));
        obstacles.filter(move |obstacle| is_missing && !self.accepts(obstacle))
    }

    /// Returns the obstacles that no baseline accepts, in the form of [`Report::obstacles`].
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
