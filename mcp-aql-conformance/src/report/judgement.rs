//! The verdict of each check, and the conformance level that follows from them.

use std::collections::BTreeMap;

use super::{CategoryReport, CheckReport, Report, Summary, Verdict, show};
use crate::adapter::Adapter;
use crate::cases::{CaseResults, Finding, Skip, shorten_message};
use crate::checks::{self, Check, Keyword};
use crate::config::Settings;
use crate::learn::LearnError;
use crate::results::RunResults;
use crate::secrets::Secrets;

impl CheckReport {
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
        let mut report = Self {
            id: check.id.to_owned(),
            title: check.title.to_owned(),
            requirements: check.requirements.iter().map(|id| (*id).to_owned()).collect(),
            keyword: match check.keyword {
                Keyword::Must => "MUST".to_owned(),
                Keyword::Should => "SHOULD".to_owned(),
            },
            level: check.level,
            verdict: Verdict::Skip,
            passed: 0,
            found: 0,
            findings: Vec::new(),
            skipped: BTreeMap::new(),
            not_applicable: None,
            partial: false,
            cut_short: false,
        };
        // Whether another run could test skipped cases.
        let mut is_open = false;
        for (adapter, collected) in surfaces {
            let mode = adapter.map(|adapter| adapter.mode);
            report.passed += collected.passed;
            report.found += collected.found;
            report.findings.extend(
                collected
                    .findings
                    .iter()
                    .cloned()
                    .map(|finding| Finding { mode: mode.map(|mode| mode.to_string()), ..finding }),
            );
            for (why, count) in &collected.skipped {
                *report.skipped.entry(why.reason()).or_default() += count;
                report.partial |= match why {
                    // `LeftOut` is reported beside the verdict, and the others were tested with other data.
                    Skip::LeftOut(_) | Skip::Scarce(_) | Skip::Unsafe(_) => false,
                    Skip::NotAllowed(_) | Skip::CutShort(_) => true,
                    // Level 1 covers the operations that can be tested safely.
                    _ if check.level == 1 => false,
                    // An operation without required parameters selects its data itself, so that no
                    // configuration makes the call safe.
                    Skip::NotOurs(operation) => {
                        let operation = adapter.and_then(|adapter| adapter.operation(operation));
                        operation.is_none_or(|operation| operation.required().next().is_some())
                    }
                    Skip::NoFixture(_) => true,
                };
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
        report.verdict = match (report.found, report.passed, !is_open) {
            (1.., ..) => match check.keyword {
                Keyword::Must => Verdict::Fail,
                Keyword::Should => Verdict::Warn,
            },
            (0, 1.., _) => Verdict::Pass,
            (0, 0, true) if report.not_applicable.is_some() => Verdict::NotApplicable,
            (0, 0, _) => Verdict::Skip,
        };
        if report.verdict == Verdict::NotApplicable {
            report.skipped.clear();
        } else {
            report.not_applicable = None;
        }
        report
    }
}

impl Report {
    pub(crate) fn judge(
        target: &str,
        settings: &Settings,
        secrets: &Secrets,
        whole: &RunResults,
    ) -> Self {
        let mut categories: Vec<CategoryReport> = Vec::new();
        let mut summary = Summary::default();
        let wanted = checks::all().filter(|check| {
            check.level <= settings.level
                && (settings.categories.is_empty()
                    || settings.categories.contains(check.category()))
        });
        for check in wanted {
            let report = CheckReport::of(check, whole);
            summary.count(report.verdict);
            let name = check.category();
            match categories.iter_mut().find(|category| category.name == name) {
                Some(category) => category.checks.push(report),
                None => {
                    categories.push(CategoryReport { name: name.to_owned(), checks: vec![report] })
                }
            }
        }
        let adapter = whole.surfaces.first().map(|surface| &surface.adapter);
        let mut report = Self {
            implementation: adapter.map_or("unknown", |adapter| adapter.name()).to_owned(),
            version: adapter.map_or("unknown", |adapter| adapter.version()).to_owned(),
            spec_version: adapter
                .and_then(|adapter| adapter.protocol().get("version")?.as_str())
                .unwrap_or("unknown")
                .to_owned(),
            target: target.to_owned(),
            runner: env!("CARGO_PKG_VERSION").to_owned(),
            requested_level: settings.level,
            conformance_level: 0,
            left_out: settings
                .file
                .skip
                .iter()
                .map(ToString::to_string)
                .chain(adapter.into_iter().flat_map(Adapter::others).map(|prefix| {
                    format!("the adapter whose tools begin with `{prefix}mcp_aql`: another one answered first")
                }))
                .collect(),
            obstacles: whole
                .unlearned
                .iter()
                .map(|(mode, why)| match mode {
                    None => why.to_string(),
                    // One mode is enough for level 1.
                    Some(_) if matches!(why, LearnError::OtherMode { .. }) => format!("level 2: {why}"),
                    Some(mode) => format!("{mode} mode: {why}"),
                })
                .collect(),
            modes: whole.surfaces.iter().map(|surface| surface.adapter.mode).collect(),
            left_behind: whole
                .surfaces
                .iter()
                .flat_map(|surface| {
                    let mode = surface.adapter.mode;
                    surface.left_behind.iter().map(move |left| format!("{mode} mode: {left}"))
                })
                .collect(),
            duration_ms: u64::try_from(whole.took.as_millis()).unwrap_or(u64::MAX),
            summary,
            categories,
        };
        report.mask(secrets);
        report.grade(settings);
        report
    }

    /// Masks secrets in the adapter's texts. The runner's own names and sentences do not contain any.
    fn mask(&mut self, secrets: &Secrets) {
        let names =
            [&mut self.implementation, &mut self.version, &mut self.spec_version, &mut self.target];
        let lists =
            self.obstacles.iter_mut().chain(&mut self.left_behind).chain(&mut self.left_out);
        for text in names.into_iter().chain(lists) {
            shorten_message(text, secrets);
            secrets.mask(text);
        }
        for check in self.categories.iter_mut().flat_map(|category| &mut category.checks) {
            check.findings.iter_mut().for_each(|finding| finding.mask(secrets));
            check.not_applicable.iter_mut().for_each(|why| secrets.mask(why));
            for (mut why, count) in std::mem::take(&mut check.skipped) {
                secrets.mask(&mut why);
                *check.skipped.entry(why).or_default() += count;
            }
        }
    }

    /// Determines the achieved level and the obstacles to a higher one.
    fn grade(&mut self, settings: &Settings) {
        if self.modes.is_empty() {
            return;
        }
        if !settings.categories.is_empty() {
            self.obstacles.push("only some of the checks were run".to_owned());
            return;
        }
        let mut granted = 0;
        for level in 1..=settings.level {
            let mut obstacles = Vec::new();
            for check in self.checks() {
                // Level 2 requires level 1 and all cases.
                let is_partial = level == 2 && check.partial;
                let is_below = check.level < level && is_partial;
                if (check.level != level && !is_below) || check.keyword != "MUST" {
                    continue;
                }
                match check.verdict {
                    Verdict::Fail => obstacles.push(format!("{} failed", check.id)),
                    Verdict::Skip => {
                        let why = check.skipped.keys().next().cloned();
                        let why = why.unwrap_or_else(|| show::NO_CASE.to_owned());
                        obstacles.push(format!("{} was not tested: {why}", check.id));
                    }
                    Verdict::Pass if check.cut_short || is_partial => {
                        obstacles.push(format!(
                            "{} was tested in part: {}",
                            check.id,
                            check.why_in_part()
                        ));
                    }
                    Verdict::Pass | Verdict::Warn | Verdict::NotApplicable => {}
                }
            }
            if level == 2 && self.modes.len() < 2 {
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
