//! Derives the conformance level from the verdicts of all checks.

use std::collections::BTreeMap;

use super::coverage::Coverage;
use super::obstacles::{IN_PART, NOT_TESTED};
use super::{
    CategoryReport, CheckReport, Report, SCHEMA_VERSION, SPEC_VERSION, Summary, Verdict, show,
};
use crate::adapter::Adapter;
use crate::cases::{INTERRUPTED, shorten_message};
use crate::category::Mode;
use crate::checks;
use crate::learn::LearnError;
use crate::run::{ModeResults, RunResults};
use crate::secrets::Secrets;
use crate::settings::Settings;

/// Judges all selected checks. Returns their reports by category, and the number of checks with each verdict.
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

/// Returns the reasons why modes could not be tested.
fn unlearned(whole: &RunResults) -> Vec<String> {
    let reason = |(mode, why): &(Option<Mode>, LearnError)| match mode {
        None => why.to_string(),
        // One mode is enough for level 1.
        Some(_) if matches!(why, LearnError::OtherMode { .. }) => format!("level 2: {why}"),
        Some(mode) => format!("{mode} mode: {why}"),
    };
    whole.unlearned.iter().map(reason).collect()
}

/// Returns the items left behind in each mode.
fn left_behind(whole: &RunResults) -> Vec<String> {
    let of_mode = |surface: &ModeResults| {
        let mode = surface.adapter.mode;
        let left = surface.left_behind.iter();
        left.map(|left| format!("{mode} mode: {left}")).collect::<Vec<_>>()
    };
    whole.surfaces.iter().flat_map(of_mode).collect()
}

/// Returns the parts of the server outside the run, and the checks cut short by a limit of the run.
fn outside_run<'a>(
    adapter: Option<&Adapter>,
    checks: impl Iterator<Item = &'a CheckReport>,
) -> Vec<String> {
    let limited = checks.filter(|check| check.limited);
    let limited: Vec<_> =
        limited.map(|check| format!("{}: {}", check.id, check.why_not())).collect();
    let others = adapter.into_iter().flat_map(Adapter::others).map(|prefix| {
        format!(
            "the adapter whose tools begin with `{prefix}mcp_aql`: another adapter of the server was tested"
        )
    });
    let unread = adapter.and_then(|adapter| adapter.unread_tools.as_ref());
    let unread = unread.map(|why| format!("further tools: {why}"));
    others.chain(unread).chain(adapter.and_then(not_sampled)).chain(limited).collect()
}

/// Describes the operations outside the sample, if the run exercised a sample.
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
            tested_spec_version: SPEC_VERSION.to_owned(),
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

    /// Counts the checks blocked by each check.
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

    /// Masks secrets in the strings of the adapter. The runner's own names and sentences contain none.
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
            let mask = |mut why: String| {
                secrets.mask(&mut why);
                why
            };
            check.partial_reasons =
                std::mem::take(&mut check.partial_reasons).into_iter().map(mask).collect();
            for (mut why, count) in std::mem::take(&mut check.skipped) {
                secrets.mask(&mut why);
                *check.skipped.entry(why).or_default() += count;
            }
        }
    }

    /// Returns the findings that block required checks of a level, each once.
    ///
    /// Omits checks that fail at this level, because they are obstacles by themselves.
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
                // Level 2 requires level 1 with all cases tested.
                let is_partial = level == 2 && check.partial;
                let is_below = check.level < level && is_partial;
                if (check.own_level() != level && !is_below) || check.keyword != "MUST" {
                    continue;
                }
                match check.verdict {
                    // The report lists such a check as not covered by the level.
                    Verdict::Skip if check.limited => {}
                    Verdict::Fail => obstacles.push(format!("{} failed", check.id)),
                    Verdict::Skip => {
                        let reasons = check.skipped.keys().map(String::as_str);
                        let none = check.skipped.is_empty().then_some(show::NO_CASE);
                        let reasons = reasons.chain(none);
                        obstacles
                            .extend(reasons.map(|why| format!("{} {NOT_TESTED}: {why}", check.id)));
                    }
                    Verdict::Pass
                        if check.cut_short || (is_partial && !check.skipped.is_empty()) =>
                    {
                        let reasons = check.why_in_part();
                        obstacles.extend(
                            reasons.iter().map(|why| format!("{} {IN_PART}: {why}", check.id)),
                        );
                    }
                    // `obstructions` lists the causes of blocked checks once.
                    Verdict::Blocked => {}
                    Verdict::Pass | Verdict::Warn | Verdict::NotApplicable => {}
                }
            }
            let is_blocked = |id: &str| {
                self.checks().any(|check| check.id == id && check.verdict == Verdict::Blocked)
            };
            if level == 2 && self.modes.len() < 2 && !is_blocked("modes.both") {
                obstacles.push("only one endpoint mode could be tested".to_owned());
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
    use crate::cases::{Cases, Skip};
    use crate::report::tests::faultless;

    /// Creates the report of a check with cases skipped for these reasons.
    fn skipped(skips: &[Skip]) -> CheckReport {
        let cases = Cases::default();
        skips.iter().for_each(|skip| cases.skip(skip.clone()));
        let results = cases.results();
        let check = checks::all().find(|check| check.id == "creates.rejected_whole");
        CheckReport::judge(check.expect("it exists"), [(None, &results)].into_iter())
    }

    #[test]
    fn all_reasons_of_a_check_are_obstacles() {
        let fixture = |what: &str| Skip::NoFixture(what.to_owned());
        let check = skipped(&[fixture("a"), fixture("b"), Skip::Scarce("c".to_owned())]);
        let passed = CheckReport { passed: 1, verdict: Verdict::Pass, ..check.clone() };
        for (check, reasons) in [(check, 3), (passed, 2)] {
            let mut report = faultless(2);
            report.categories[0].checks.push(check);
            report.grade(&Settings::default());
            assert_eq!(report.obstacles.len(), reasons, "{:?}", report.obstacles);
        }
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
