//! The verdict of each check, and the conformance level that follows from them.

use std::collections::BTreeMap;

use super::coverage::Coverage;
use super::obstacles::{IN_PART, NOT_TESTED};
use super::{
    CategoryReport, CheckReport, Obstruction, Report, SCHEMA_VERSION, Summary, Verdict, show,
};
use crate::adapter::Adapter;
use crate::cases::{CaseResults, INTERRUPTED, Skip, shorten_message};
use crate::category::Mode;
use crate::checks::{self, Check, Keyword};
use crate::config::Settings;
use crate::finding::{self, Finding};
use crate::learn::LearnError;
use crate::results::{ModeResults, RunResults};
use crate::secrets::Secrets;

impl CheckReport {
    /// The level that a failure of the check denies.
    const fn own_level(&self) -> u8 {
        if matches!(self.verdict, Verdict::Fail) && self.fails_later { 2 } else { self.level }
    }

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
        let mut report = Self::untested(check);
        // Whether another run could test skipped cases.
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
                if let Skip::Blocked { by, why } = why {
                    report.add_obstruction(by, why, *count);
                    continue;
                }
                *report.skipped.entry(why.reason()).or_default() += count;
                report.partial |= is_partial(check, adapter, why);
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

    /// Counts cases that the findings of another check made impossible. The first reason is kept.
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
            cut_short: false,
            limited: false,
        }
    }
}

/// Whether another configuration would test a case that was skipped for this reason.
fn is_partial(check: &Check, adapter: Option<&Adapter>, why: &Skip) -> bool {
    match why {
        // `LeftOut` is reported beside the verdict, and the others were tested with other data.
        Skip::LeftOut(_)
        | Skip::Scarce(_)
        | Skip::Limited(_)
        | Skip::NotSampled(_)
        | Skip::Unsafe(_) => false,
        Skip::NotAllowed(_) | Skip::MayChange(_) | Skip::CutShort(_) | Skip::Blocked { .. } => true,
        // Level 1 covers the operations that can be tested safely.
        _ if check.level == 1 => false,
        // An operation without required parameters selects its data itself, so that no configuration
        // makes the call safe.
        Skip::NotOurs(operation) | Skip::NotReading(operation) => {
            let operation = adapter.and_then(|adapter| adapter.operation(operation));
            operation.is_none_or(|operation| operation.required().next().is_some())
        }
        Skip::NoFixture(_) => true,
    }
}

/// The reports of all selected checks by category, and the number of checks of each verdict.
fn judge_all(settings: &Settings, whole: &RunResults) -> (Vec<CategoryReport>, Summary) {
    let mut categories: Vec<CategoryReport> = Vec::new();
    let mut summary = Summary::default();
    for check in checks::selected(settings) {
        let report = CheckReport::of(check, whole);
        summary.count(report.verdict);
        let name = check.category();
        match categories.iter_mut().find(|category| category.name == name) {
            Some(category) => category.checks.push(report),
            None => categories.push(CategoryReport { name: name.to_owned(), checks: vec![report] }),
        }
    }
    (categories, summary)
}

/// The reasons why modes could not be tested.
fn unlearned(whole: &RunResults) -> Vec<String> {
    let reason = |(mode, why): &(Option<Mode>, LearnError)| match mode {
        None => why.to_string(),
        // One mode is enough for level 1.
        Some(_) if matches!(why, LearnError::OtherMode { .. }) => format!("level 2: {why}"),
        Some(mode) => format!("{mode} mode: {why}"),
    };
    whole.unlearned.iter().map(reason).collect()
}

/// The items that each mode left behind.
fn left_behind(whole: &RunResults) -> Vec<String> {
    let of_mode = |surface: &ModeResults| {
        let mode = surface.adapter.mode;
        let left = surface.left_behind.iter();
        left.map(|left| format!("{mode} mode: {left}")).collect::<Vec<_>>()
    };
    whole.surfaces.iter().flat_map(of_mode).collect()
}

/// The parts of the server that the run did not test, and the checks that a limit of the run cut short.
fn outside_run<'a>(
    adapter: Option<&Adapter>,
    checks: impl Iterator<Item = &'a CheckReport>,
) -> Vec<String> {
    let limited = checks.filter(|check| check.limited);
    let limited: Vec<_> =
        limited.map(|check| format!("{}: {}", check.id, check.why_not())).collect();
    let others = adapter.into_iter().flat_map(Adapter::others).map(|prefix| {
        format!("the adapter whose tools begin with `{prefix}mcp_aql`: another one answered first")
    });
    let unread = adapter.and_then(|adapter| adapter.unread_tools.as_ref());
    let unread = unread.map(|why| format!("further tools: {why}"));
    others.chain(unread).chain(adapter.and_then(not_sampled)).chain(limited).collect()
}

/// The number of operations that the run did not exercise, if it exercised a sample.
fn not_sampled(adapter: &Adapter) -> Option<String> {
    let (all, exercised) = (adapter.operations.len(), adapter.exercised().count());
    (exercised < all).then(|| {
        let rest = all - exercised;
        format!("{rest} of {all} operations: a sample of {exercised} operations was exercised")
    })
}

impl Report {
    pub(crate) fn judge(
        target: &str,
        invocation: &[String],
        settings: &Settings,
        secrets: &Secrets,
        whole: &RunResults,
    ) -> Self {
        let (categories, summary) = judge_all(settings, whole);
        let adapter = whole.surfaces.first().map(|surface| &surface.adapter);
        let version = adapter.and_then(|adapter| adapter.protocol().get("version")?.as_str());
        let coverage = Coverage::of_checks(categories.iter().flat_map(|it| &it.checks));
        let mut report = Self {
            schema_version: SCHEMA_VERSION,
            implementation: adapter.map_or("unknown", |adapter| adapter.name()).to_owned(),
            version: adapter.map_or("unknown", |adapter| adapter.version()).to_owned(),
            spec_version: version.unwrap_or("unknown").to_owned(),
            tested_spec_version: settings.spec_version.clone(),
            target: target.to_owned(),
            invocation: invocation.to_vec(),
            selection: settings.selection.names(),
            runner: env!("CARGO_PKG_VERSION").to_owned(),
            requested_level: settings.level,
            conformance_level: 0,
            left_out: settings.file.skip.iter().map(ToString::to_string).collect(),
            outside_run: outside_run(adapter, categories.iter().flat_map(|it| &it.checks)),
            sampled: adapter.is_some_and(|adapter| not_sampled(adapter).is_some()),
            obstacles: match whole.is_interrupted {
                true => vec![INTERRUPTED.to_owned()],
                false => unlearned(whole),
            },
            accepted_obstacles: Vec::new(),
            no_longer_found: Vec::new(),
            modes: whole
                .surfaces
                .iter()
                .filter(|surface| !surface.adapter.endpoints.is_empty())
                .map(|surface| surface.adapter.mode)
                .collect(),
            interrupted: whole.is_interrupted,
            left_behind: left_behind(whole),
            duration_ms: u64::try_from(whole.took.as_millis()).unwrap_or(u64::MAX),
            coverage: coverage.with_operations(whole),
            summary,
            categories,
        };
        report.count_blocked();
        report.mask(secrets);
        report.grade(settings);
        report.add_repeat_commands();
        report
    }

    /// Counts the checks that each check blocks.
    fn count_blocked(&mut self) {
        let mut blocks: BTreeMap<String, usize> = BTreeMap::new();
        for check in self.checks().filter(|check| check.verdict == Verdict::Blocked) {
            for obstruction in &check.blocked_by {
                *blocks.entry(obstruction.check.clone()).or_default() += 1;
            }
        }
        for check in self.categories.iter_mut().flat_map(|category| &mut category.checks) {
            check.blocks = blocks.get(&check.id).copied().unwrap_or_default();
        }
    }

    /// Masks secrets in the adapter's texts. The runner's own names and sentences do not contain any.
    fn mask(&mut self, secrets: &Secrets) {
        let names =
            [&mut self.implementation, &mut self.version, &mut self.spec_version, &mut self.target];
        let lists =
            self.obstacles.iter_mut().chain(&mut self.left_behind).chain(&mut self.left_out);
        let lists = lists.chain(&mut self.outside_run).chain(&mut self.invocation);
        for text in names.into_iter().chain(lists) {
            shorten_message(text, secrets);
            secrets.mask(text);
        }
        for check in self.categories.iter_mut().flat_map(|category| &mut category.checks) {
            check.findings.iter_mut().for_each(|finding| finding.mask(secrets));
            check.not_applicable.iter_mut().for_each(|why| secrets.mask(why));
            check.blocked_by.iter_mut().for_each(|by| secrets.mask(&mut by.why));
            for (mut why, count) in std::mem::take(&mut check.skipped) {
                secrets.mask(&mut why);
                *check.skipped.entry(why).or_default() += count;
            }
        }
    }

    /// The findings that block required checks of a level, each once. A check that fails at this level is an
    /// obstacle by itself.
    fn obstructions(&self, level: u8) -> Vec<String> {
        let is_obstacle = |id: &str| {
            self.checks().any(|check| {
                check.id == id
                    && check.verdict == Verdict::Fail
                    && check.keyword == "MUST"
                    && check.own_level() == level
            })
        };
        let mut blocked: BTreeMap<&str, usize> = BTreeMap::new();
        let required =
            self.checks().filter(|check| check.level == level && check.keyword == "MUST");
        for check in required.filter(|check| check.verdict == Verdict::Blocked) {
            for obstruction in &check.blocked_by {
                *blocked.entry(&obstruction.check).or_default() += 1;
            }
        }
        blocked.retain(|id, _| !is_obstacle(id));
        let obstacle = |(id, count): (&str, usize)| match count {
            1 => format!("{id} blocks 1 check"),
            count => format!("{id} blocks {count} checks"),
        };
        blocked.into_iter().map(obstacle).collect()
    }

    /// Determines the achieved level and the obstacles to a higher one.
    fn grade(&mut self, settings: &Settings) {
        if !self.is_reached() || self.interrupted {
            return;
        }
        if !settings.selection.is_all() {
            self.obstacles.push("only some of the checks were run".to_owned());
            return;
        }
        let mut granted = 0;
        for level in 1..=settings.level {
            let mut obstacles = self.obstructions(level);
            for check in self.checks() {
                // Level 2 requires level 1 and all cases.
                let is_partial = level == 2 && check.partial;
                let is_below = check.level < level && is_partial;
                if (check.own_level() != level && !is_below) || check.keyword != "MUST" {
                    continue;
                }
                match check.verdict {
                    // The report names it among what the level does not cover.
                    Verdict::Skip if check.limited => {}
                    Verdict::Fail => obstacles.push(format!("{} failed", check.id)),
                    Verdict::Skip => {
                        let why = check.skipped.keys().next().cloned();
                        let why = why.unwrap_or_else(|| show::NO_CASE.to_owned());
                        obstacles.push(format!("{} {NOT_TESTED}: {why}", check.id));
                    }
                    Verdict::Pass
                        if check.cut_short || (is_partial && !check.skipped.is_empty()) =>
                    {
                        obstacles.push(format!("{} {IN_PART}: {}", check.id, check.why_in_part()));
                    }
                    // Their causes are named once.
                    Verdict::Blocked => {}
                    Verdict::Pass | Verdict::Warn | Verdict::NotApplicable => {}
                }
            }
            let is_blocked = |id: &str| {
                self.checks().any(|check| check.id == id && check.verdict == Verdict::Blocked)
            };
            if level == 2 && self.modes.len() < 2 && !is_blocked("modes.both") {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::Cases;
    use crate::report::tests::faultless;

    /// The report of a check whose cases were skipped for these reasons.
    fn skipped(skips: &[Skip]) -> CheckReport {
        let cases = Cases::default();
        skips.iter().for_each(|skip| cases.skip(skip.clone()));
        let results = cases.results();
        let check = checks::all().find(|check| check.id == "creates.rejected_whole");
        CheckReport::judge(check.expect("it exists"), [(None, &results)].into_iter())
    }

    #[test]
    fn limited_checks_deny_no_level_but_are_named() {
        let limited = Skip::Limited("it was called 40 times".to_owned());
        let scarce = Skip::Scarce("an item".to_owned());
        for (skips, is_limited) in [
            (vec![limited.clone()], true),
            (vec![limited.clone(), scarce.clone()], false),
            (vec![scarce], false),
            (vec![], false),
        ] {
            let check = skipped(&skips);
            assert_eq!((check.verdict, check.limited), (Verdict::Skip, is_limited), "{skips:?}");
            let outside = outside_run(None, [&check].into_iter());
            let named = "creates.rejected_whole: limited: it was called 40 times";
            assert_eq!(outside == [named], is_limited, "{outside:?}");
            let mut report = faultless(2);
            report.conformance_level = 0;
            report.categories[0].checks.push(check);
            report.grade(&Settings::default());
            assert_eq!(report.conformance_level == 2, is_limited, "{:?}", report.obstacles);
        }
    }
}
