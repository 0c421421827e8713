//! Derives the verdict of a check from its cases in all modes.

use std::collections::{BTreeMap, BTreeSet};

use super::{CheckReport, Obstruction, Verdict};
use crate::adapter::Adapter;
use crate::cases::{CaseResults, Skip};
use crate::checks::{Check, Keyword};
use crate::finding::{self, Finding};
use crate::run::RunResults;

impl CheckReport {
    /// Returns the level denied by a failure of the check.
    pub(super) const fn own_level(&self) -> u8 {
        if matches!(self.verdict, Verdict::Fail) && self.fails_later { 2 } else { self.level }
    }

    /// Judges the results of a check in all modes.
    pub(super) fn of(check: &Check, whole: &RunResults) -> Self {
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
        let mut report = Self::untested(check);
        // `true` if another run could test skipped cases.
        let mut is_open = false;
        let mut is_limited = true;
        let mut found_later = 0;
        for (adapter, collected) in surfaces {
            let mode = adapter.map(|adapter| adapter.mode.to_string());
            report.passed += collected.passed;
            report.found += collected.found;
            found_later += collected.found_later;
            let findings = collected.findings.iter().cloned();
            let modes: Vec<_> = mode.into_iter().collect();
            report
                .findings
                .extend(findings.map(|finding| Finding { modes: modes.clone(), ..finding }));
            for (why, count) in &collected.skipped {
                is_limited &= matches!(why, Skip::Limited(_));
                is_open |= report.add_skipped(why, *count, is_partial(check, adapter, why));
            }
            if let Some(why) = &collected.not_applicable {
                report.not_applicable.get_or_insert_with(|| why.clone());
            }
        }
        report.findings = finding::merge(std::mem::take(&mut report.findings));
        report.fails_later = report.found > 0 && report.found == found_later;
        let is_blocked = !is_open && !report.blocked_by.is_empty();
        report.verdict = match (report.found, report.passed, !is_open) {
            (1.., ..) => match check.keyword {
                Keyword::Must => Verdict::Fail,
                Keyword::Should => Verdict::Warn,
            },
            (0, 1.., _) => Verdict::Pass,
            (0, 0, _) if is_blocked => Verdict::Blocked,
            (0, 0, true) if report.not_applicable.is_some() => Verdict::NotApplicable,
            (0, 0, _) => Verdict::Skip,
        };
        report.limited =
            report.verdict == Verdict::Skip && is_limited && !report.skipped.is_empty();
        if report.verdict == Verdict::NotApplicable {
            report.skipped.clear();
        } else {
            report.not_applicable = None;
        }
        report
    }

    /// Counts skipped cases. Returns `true` if another run could test them.
    fn add_skipped(&mut self, why: &Skip, cases: usize, is_partial: bool) -> bool {
        if let Skip::Blocked { by, why } = why {
            self.add_obstruction(by, why, cases);
            return false;
        }
        *self.skipped.entry(why.reason()).or_default() += cases;
        if is_partial {
            self.partial = true;
            self.partial_reasons.insert(why.reason());
        }
        self.cut_short |= matches!(why, Skip::CutShort(_));
        let is_unsafe = matches!(why, Skip::Unsafe(_));
        if is_unsafe {
            self.not_applicable.get_or_insert_with(|| why.reason());
        }
        !is_unsafe
    }

    /// Counts cases blocked by the findings of another check. Keeps the first reason.
    fn add_obstruction(&mut self, by: &str, why: &str, cases: usize) {
        self.partial = true;
        match self.blocked_by.iter_mut().find(|obstruction| obstruction.check == by) {
            Some(obstruction) => obstruction.cases += cases,
            None => {
                let (check, why) = (by.to_owned(), why.to_owned());
                self.blocked_by.push(Obstruction { check, why, cases });
            }
        }
    }

    /// Creates the report of a check without cases.
    fn untested(check: &Check) -> Self {
        Self {
            id: check.id.to_owned(),
            title: check.title.to_owned(),
            requirements: check.requirements.iter().map(|id| (*id).to_owned()).collect(),
            keyword: check.keyword.as_str().to_owned(),
            level: check.level,
            fails_later: false,
            verdict: Verdict::Skip,
            passed: 0,
            found: 0,
            findings: Vec::new(),
            skipped: BTreeMap::new(),
            blocked_by: Vec::new(),
            blocks: 0,
            not_applicable: None,
            partial: false,
            partial_reasons: BTreeSet::new(),
            cut_short: false,
            limited: false,
        }
    }
}

/// Returns `true` if another configuration would test a case skipped for this reason.
fn is_partial(check: &Check, adapter: Option<&Adapter>, why: &Skip) -> bool {
    match why {
        // `LeftOut` is reported next to the verdict, and the others were tested with other data.
        Skip::LeftOut(_)
        | Skip::Scarce(_)
        | Skip::Limited(_)
        | Skip::NotSampled(_)
        | Skip::Unsafe(_) => false,
        Skip::NotAllowed(_) | Skip::MayChange(_) | Skip::CutShort(_) | Skip::Blocked { .. } => true,
        // Level 1 covers only operations with a safe test.
        _ if check.level == 1 => false,
        // An operation without required parameters selects its data itself. No configuration can make such a call safe.
        Skip::NotOurs(operation) | Skip::NotReading(operation) => {
            let operation = adapter.and_then(|adapter| adapter.operation(operation));
            operation.is_none_or(|operation| operation.required().next().is_some())
        }
        Skip::NoFixture(_) => true,
    }
}
