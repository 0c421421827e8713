//! Runs the checks of one mode in phases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use super::interruption::{CasesByCheck, copy_cases};
use super::{Progress, Runner};
use crate::adapter::gaps;
use crate::budget::Pacer;
use crate::cases::{CaseResults, Cases, INTERRUPTED, Skip};
use crate::category::Mode;
use crate::checks::{self, Body, Check};
use crate::learn::LearnError;
use crate::run::{ExchangeCheck, ModeResults, Run};
use crate::sync::lock;

/// Maximum number of concurrent checks.
const CONCURRENT_CHECKS: usize = 64;

/// The checks of one mode and their cases.
struct ModeChecks<'r> {
    runner: &'r Runner,
    wanted: Vec<&'static Check>,
    cases: CasesByCheck,
    done: Mutex<BTreeSet<&'static str>>,
    /// Findings of level 1 checks in the calls of higher-level checks.
    found_later: Mutex<BTreeMap<&'static str, usize>>,
}

impl Runner {
    /// Runs all checks in one mode.
    pub(super) async fn surface(
        &self,
        asked: Option<Mode>,
        of_all: Mode,
        until: Instant,
        pacer: &Arc<Pacer>,
    ) -> Result<ModeResults, LearnError> {
        // Statistics per mode keep a finding of one mode from being repeated for the other.
        let tap = &self.tap();
        let started = Instant::now();
        let checks = ModeChecks::new(self);
        let run = self.learned(asked, of_all, tap, (until, pacer), checks.every()).await?;
        tap.set_mode(run.adapter.mode);
        let before_removal = async {
            match run.adapter.unread() {
                None => run.prepare().await,
                Some(_) => run.ask_again().await,
            }
            for level in 1..=self.settings.level {
                for number in [0, 1, 2, 3] {
                    checks.phase(&run, number, level).await;
                }
                if level == 1 {
                    *lock(&checks.found_later) = checks.found_in_calls(&run);
                }
            }
        };
        let so_far =
            self.until_interrupted(&run, before_removal, || copy_cases(&checks.cases)).await;
        checks.end_levels(&run);
        let left_behind = self.clear_up(&run).await;
        if !self.interruption.is_set() {
            for level in 1..=self.settings.level {
                checks.phase(&run, 4, level).await;
            }
        }
        let cases = so_far.as_ref().unwrap_or(&checks.cases);
        checks.end(&run, cases);
        let collected = cases.iter().map(|(check, cases)| (*check, checks.results(check, cases)));
        let collected = collected.collect();
        pacer.end_mode(started.elapsed());
        let adapter = run.close().await;
        Ok(ModeResults { adapter, asked, collected, left_behind, called: tap.called() })
    }
}

impl<'r> ModeChecks<'r> {
    fn new(runner: &'r Runner) -> Self {
        let wanted = checks::running(&runner.settings);
        let cases = wanted.iter().map(|check| (check.id, Arc::new(runner.cases(check)))).collect();
        Self { runner, wanted, cases, done: Mutex::default(), found_later: Mutex::default() }
    }

    fn of(&self, check: &Check) -> Arc<Cases> {
        self.cases.get(check.id).map(Arc::clone).unwrap_or_default()
    }

    /// Returns the checks that examine every exchange.
    fn every(&self) -> Vec<(ExchangeCheck, Arc<Cases>)> {
        let wanted = self.wanted.iter();
        wanted
            .filter(|check| check.left_out(&self.runner.settings).is_none())
            .filter_map(|check| match check.body {
                Body::Every(look) => Some((look, self.of(check))),
                _ => None,
            })
            .collect()
    }

    /// Counts the findings so far of the level 1 checks that judge the calls of other checks.
    fn found_in_calls(&self, run: &Run) -> BTreeMap<&'static str, usize> {
        let level_1 = self.wanted.iter().filter(|check| check.level == 1);
        let found = level_1.filter_map(|check| {
            let cases = match check.body {
                Body::Every(_) => self.of(check),
                Body::Seen(look) => {
                    let cases = Arc::new(self.runner.cases(check));
                    look(run, &cases);
                    cases
                }
                _ => return None,
            };
            Some((check.id, cases.results().found))
        });
        found.collect()
    }

    /// Records the findings of level 1 checks that only calls of higher-level checks revealed.
    ///
    /// Level 1 must not depend on these, so that it is granted independently of the requested level. It does depend on
    /// the later calls that remove items.
    fn end_levels(&self, run: &Run) {
        let found = self.found_in_calls(run);
        for (check, count) in lock(&self.found_later).iter_mut() {
            *count = found.get(check).map_or(0, |found| found.saturating_sub(*count));
        }
    }

    /// Returns the results of a check.
    fn results(&self, check: &str, cases: &Cases) -> CaseResults {
        let found_later = lock(&self.found_later).get(check).copied().unwrap_or_default();
        let mut results = cases.results();
        results.found_later = found_later;
        results
    }

    /// Runs the checks of a phase and a level.
    async fn phase(&self, run: &Run, phase: u8, level: u8) {
        let is_now = |check: &&Check| phase_of(&check.body) == phase && check.level == level;
        let now = self.wanted.iter().copied().filter(is_now);
        let at_once = if phase == 3 { 1 } else { CONCURRENT_CHECKS };
        // The checks of phase 1 change nothing, and many of them read the same lists.
        run.lists.set_open(phase == 1);
        stream::iter(now)
            .for_each_concurrent(at_once, |check| async move {
                one(run, check, &self.of(check)).await;
                self.note_done(check);
            })
            .await;
    }

    fn note_done(&self, check: &'static Check) {
        // After an interruption, the remaining checks end without having tested anything.
        if self.runner.interruption.is_set() {
            return;
        }
        let mut done = lock(&self.done);
        done.insert(check.id);
        let (done, total) = (done.len(), self.wanted.len());
        (self.runner.progress_callback)(Progress::Checked { check: check.id, done, total });
    }

    /// Skips the cases prevented by an interruption, and blocks the cases of unreadable parts.
    fn end(&self, run: &Run, cases: &CasesByCheck) {
        for check in &self.wanted {
            let Some(cases) = cases.get(check.id) else { continue };
            if self.runner.interruption.is_set() && !lock(&self.done).contains(check.id) {
                cases.skip(Skip::CutShort(INTERRUPTED.to_owned()));
            }
            block(run, check, cases);
        }
    }
}

/// Returns the phase of a check. Phases run in ascending order.
const fn phase_of(body: &Body) -> u8 {
    match body {
        Body::Learned(_) => 0,
        Body::Reads(_) => 1,
        Body::Changes(_) => 2,
        Body::Alone(_) => 3,
        Body::Every(_) | Body::Seen(_) | Body::Modes(_) => 4,
    }
}

async fn one(run: &Run, check: &Check, cases: &Cases) {
    if let Some(why) = check.left_out(&run.settings) {
        cases.skip(Skip::LeftOut(why));
        return;
    }
    if !matches!(check.body, Body::Learned(_) | Body::Every(_) | Body::Seen(_) | Body::Modes(_))
        && let Some(lost) = run.no_response()
    {
        cases.skip(Skip::CutShort(lost.to_string()));
        return;
    }
    if let Some(gap) = run.adapter.obstacle(check.id) {
        if !matches!(check.body, Body::Every(_)) {
            cases.skip(gap.skip());
        }
        return;
    }
    match check.body {
        Body::Learned(look) | Body::Seen(look) => look(run, cases),
        Body::Reads(check) | Body::Changes(check) | Body::Alone(check) => {
            run_until(run, check(run, cases), cases).await;
        }
        // `Every` has already examined all calls, and `Modes` runs after all modes.
        Body::Every(_) | Body::Modes(_) => {}
    }
}

/// Blocks a check if the tested feature may be in an unreadable part of the adapter. Skips it if the feature may be
/// outside the sample.
fn block(run: &Run, check: &Check, cases: &Cases) {
    if let Some(gap) = run.adapter.unread()
        && cases.is_empty()
    {
        cases.skip(gap.skip());
    }
    if let Some(gap) = run.adapter.doubt(check.id) {
        cases.block_not_applicable(gap.by, &gap.why);
    }
    if let Some((by, why)) = gaps::doubt_of_protocol(&run.adapter, check.id) {
        cases.block_not_applicable(by, why);
    }
    if let Some((by, why)) = run.unread_error() {
        if gaps::needs_codes(check.id) {
            cases.block_not_applicable(by, why);
        } else if gaps::judges_codes(check.id) && cases.is_empty() {
            cases.block(by, why);
        }
    }
    if run.has_form_outside_sample() && gaps::depends_on_operations(check.id) {
        cases.skip_not_applicable(run.not_sampled());
    }
}

/// Runs a check until the deadline of the run. A rate limit of the adapter may extend the deadline in the meantime.
async fn run_until(run: &Run, check: impl Future<Output = ()>, cases: &Cases) {
    tokio::pin!(check);
    loop {
        let deadline = run.deadline();
        if tokio::time::timeout_at(deadline, &mut check).await.is_ok() {
            return;
        }
        if run.deadline() <= deadline {
            return cases.skip(run.out_of_time());
        }
    }
}
