//! The checks of one mode in their phases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::{StreamExt as _, stream};

use super::{Progress, Runner};
use crate::adapter::gaps;
use crate::cases::{Cases, Skip};
use crate::category::Mode;
use crate::checks::{self, Body, Check};
use crate::learn::LearnError;
use crate::results::ModeResults;
use crate::run::Run;
use crate::sync::lock;

/// The maximum number of concurrent checks.
const CONCURRENT_CHECKS: usize = 64;

impl Runner {
    /// Runs all checks in one mode.
    pub(super) async fn surface(
        &self,
        asked: Option<Mode>,
        of_all: Mode,
        until: Instant,
    ) -> Result<ModeResults, LearnError> {
        // Each mode has its own statistics, so that findings are not repeated.
        let tap = &self.tap();
        let wanted = checks::running(&self.settings);
        let cases: BTreeMap<_, _> =
            wanted.iter().map(|check| (check.id, Arc::new(self.cases(check)))).collect();
        let of = |check: &Check| cases.get(check.id).map(Arc::clone).unwrap_or_default();
        let every = wanted
            .iter()
            .filter(|check| check.left_out(&self.settings).is_none())
            .filter_map(|check| match check.body {
                Body::Every(look) => Some((look, of(check))),
                _ => None,
            })
            .collect();
        let run = self.learned(asked, of_all, tap, until, every).await?;
        tap.set_mode(run.adapter.mode);
        match run.adapter.unread() {
            None => run.prepare().await,
            Some(_) => run.ask_again().await,
        }
        let done = Mutex::new(0_usize);
        let total = wanted.len();
        let reported = |check: &'static Check| {
            let mut done = lock(&done);
            *done += 1;
            (self.progress_callback)(Progress::Checked { check: check.id, done: *done, total });
        };
        let mut left_behind = Vec::new();
        for phase in [0, 1, 2, 3, 4] {
            if phase == 4 {
                left_behind = run.clear_up().await;
            }
            let now = wanted.iter().copied().filter(|check| phase_of(&check.body) == phase);
            let at_once = if phase == 3 { 1 } else { CONCURRENT_CHECKS };
            stream::iter(now)
                .for_each_concurrent(at_once, |check| {
                    let (run, cases, reported) = (&run, of(check), &reported);
                    async move {
                        one(run, check, &cases).await;
                        reported(check);
                    }
                })
                .await;
        }
        wanted.iter().for_each(|check| block(&run, check, &of(check)));
        let collected = cases.iter().map(|(check, cases)| (*check, cases.results())).collect();
        let adapter = run.close().await;
        Ok(ModeResults { adapter, asked, collected, left_behind, called: tap.called() })
    }
}

/// The phase of a check, in execution order.
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
        // `Every` has already seen all calls, and `Modes` runs after all modes.
        Body::Every(_) | Body::Modes(_) => {}
    }
}

/// Blocks a check whose cases or whose feature may be in a part of the adapter that could not be read.
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
}

/// Runs a check until the deadline of the run, which a rate limit of the adapter may prolong meanwhile.
async fn run_until(run: &Run, check: impl Future<Output = ()>, cases: &Cases) {
    tokio::pin!(check);
    loop {
        let deadline = run.deadline();
        if tokio::time::timeout_at(deadline.into(), &mut check).await.is_ok() {
            return;
        }
        if run.deadline() <= deadline {
            return cases.skip(Skip::CutShort("the time of the run was over".to_owned()));
        }
    }
}
