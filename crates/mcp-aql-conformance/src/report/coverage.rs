//! Computes the share of an adapter that a run exercised.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::value_text::counted;
use super::{CheckReport, Report, Verdict};
use crate::run::RunResults;

/// The share of the applicable checks and of the operations that a run exercised.
///
/// You find it in the JSON report:
///
/// ```json
/// { "applicable": 123, "exercised": 68, "percent": 55, "operations": 85, "called": 24 }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Number of applicable checks. Checks of features that the adapter lacks are not counted.
    pub applicable: usize,
    /// Number of applicable checks with at least one judged case.
    pub exercised: usize,
    /// `exercised` as a percentage of `applicable`, rounded down.
    pub percent: u8,
    /// Number of operations listed by introspection.
    pub operations: usize,
    /// Number of these operations with at least one successful call.
    pub called: usize,
}

impl Coverage {
    /// Computes the share of exercised checks.
    pub(super) fn of_checks<'a>(checks: impl Iterator<Item = &'a CheckReport>) -> Self {
        let applicable = checks.filter(|check| check.verdict != Verdict::NotApplicable);
        let mut coverage = Self::default();
        for check in applicable {
            coverage.applicable += 1;
            coverage.exercised += usize::from(check.is_exercised());
        }
        let percent = (coverage.exercised * 100).checked_div(coverage.applicable);
        coverage.percent = percent.and_then(|percent| u8::try_from(percent).ok()).unwrap_or(0);
        coverage
    }

    /// Adds the share of operations called in any mode.
    pub(super) fn with_operations(mut self, whole: &RunResults) -> Self {
        let mut names = BTreeSet::new();
        let mut called = BTreeSet::new();
        for surface in &whole.surfaces {
            names.extend(surface.adapter.operations.iter().map(|it| it.name.as_str()));
            called.extend(surface.called.iter().map(String::as_str));
        }
        self.operations = names.len();
        self.called = names.intersection(&called).count();
        self
    }
}

impl CheckReport {
    /// Returns `true` if at least one case was judged.
    pub(super) fn is_exercised(&self) -> bool {
        self.passed + self.found > 0
    }
}

impl Report {
    /// Describes the coverage, for example "68 of 123 applicable checks exercised; 24 of 85 operations called".
    pub(super) fn coverage_in_words(&self) -> String {
        let Coverage { applicable, exercised, operations, called, .. } = self.coverage;
        let checks =
            format!("{exercised} of {} exercised", counted(applicable, "applicable check"));
        match operations {
            0 => checks,
            _ => format!(
                "{checks}; {called} of {} called successfully",
                counted(operations, "operation")
            ),
        }
    }
}
