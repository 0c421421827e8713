//! The pace of the calls of a run. All calls wait together after one of them exceeded a rate limit of the adapter.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::Run;
use crate::sync::lock;

/// The interval between calls after the first rejected call.
const FIRST_INTERVAL: Duration = Duration::from_millis(25);
/// The maximum interval between calls.
const MAX_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum total time that one call waits before its retries.
pub(super) const MAX_CALL_WAIT: Duration = Duration::from_secs(30);
/// The maximum factor by which a rate limit prolongs the run.
const MAX_PROLONGATION: u32 = 4;

/// The pace of calls. Without rejected calls, none of them waits.
#[derive(Debug, Default)]
pub(super) struct Pacer(Mutex<Pace>);

#[derive(Debug, Default)]
struct Pace {
    /// The time between the starts of calls.
    interval: Duration,
    /// The earliest start of the next call.
    next: Option<Instant>,
    /// The end of the last demanded pause.
    paused_until: Option<Instant>,
}

impl Pacer {
    /// Waits for the turn of a call.
    pub(super) async fn turn(&self) {
        loop {
            let now = Instant::now();
            let start = {
                let mut pace = lock(&self.0);
                let start = pace.next.map_or(now, |next| next.max(now));
                if pace.paused_until.is_none_or(|until| start >= until) {
                    pace.next = Some(start + pace.interval);
                    start
                } else {
                    pace.next = pace.paused_until;
                    continue;
                }
            };
            tokio::time::sleep_until(start.into()).await;
            // Another call may have been rejected in the meantime.
            if lock(&self.0).paused_until.is_none_or(|until| until <= start.max(Instant::now())) {
                return;
            }
        }
    }

    /// Makes all calls wait after a rejected one, and lengthens the interval. Calls that were sent together are
    /// rejected together, which counts once.
    pub(super) fn slow_down(&self, pause: Duration) {
        let mut pace = lock(&self.0);
        let now = Instant::now();
        if pace.paused_until.is_none_or(|until| until <= now) {
            pace.interval = (pace.interval * 2).clamp(FIRST_INTERVAL, MAX_INTERVAL);
        }
        pace.paused_until = pace.paused_until.max(Some(now + pause));
    }

    /// Whether a call was rejected so far.
    fn is_limited(&self) -> bool {
        lock(&self.0).paused_until.is_some()
    }
}

impl Run {
    /// The time limit of the run, which is longer if the adapter limits the rate of calls.
    pub(super) fn end(&self) -> Instant {
        match self.pacer.is_limited() {
            true => self.until + self.settings.limits.run * (MAX_PROLONGATION - 1),
            false => self.until,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_calls_wait_after_a_rejected_one() {
        let pacer = Pacer::default();
        pacer.turn().await;
        assert_eq!(lock(&pacer.0).interval, Duration::ZERO, "no call was rejected");
        for _ in 0..5 {
            pacer.slow_down(Duration::from_millis(200));
        }
        assert_eq!(lock(&pacer.0).interval, FIRST_INTERVAL, "one pause counts once");
        let paused_until = lock(&pacer.0).paused_until;
        pacer.turn().await;
        assert!(paused_until.is_some_and(|until| until <= Instant::now()), "the pause is over");
    }
}
