//! The circuit breaker: a server that fails several times in a row is left alone for a while, and then asked
//! once before it is asked by everybody again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The circuit breaker of one server.
#[derive(Debug)]
pub(super) struct Breaker {
    /// So many failures in a row open it.
    failures: u32,
    /// So long it stays open.
    open_for: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed { failed: u32 },
    Open { until: Instant },
    Probing,
}

/// What the breaker of a server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BreakerState {
    /// It lets calls through.
    Closed,
    /// It lets no call through.
    Open,
    /// It lets one call through, and waits for how that ends.
    HalfOpen,
}

impl BreakerState {
    /// As `list_servers` has it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "halfOpen",
        }
    }
}

/// The right to one call. Whoever drops it without a word, because the call was given up, is not counted.
#[derive(Debug)]
pub(super) struct Pass<'b> {
    breaker: &'b Breaker,
    is_probe: bool,
    is_settled: bool,
}

impl Breaker {
    pub(super) fn new(failures: u32, open_for: Duration) -> Self {
        let state = Mutex::new(State::Closed { failed: 0 });
        Self { failures: failures.max(1), open_for, state }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call through, or not.
    pub(super) fn pass(&self) -> Option<Pass<'_>> {
        let mut state = self.lock();
        let is_probe = match *state {
            State::Closed { .. } => false,
            State::Open { until } if until <= Instant::now() => {
                *state = State::Probing;
                true
            }
            State::Open { .. } | State::Probing => return None,
        };
        Some(Pass { breaker: self, is_probe, is_settled: false })
    }

    pub(super) fn state(&self) -> BreakerState {
        match *self.lock() {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { until } if until > Instant::now() => BreakerState::Open,
            State::Open { .. } | State::Probing => BreakerState::HalfOpen,
        }
    }
}

impl Pass<'_> {
    /// The server is alive.
    pub(super) fn succeeded(mut self) {
        self.is_settled = true;
        *self.breaker.lock() = State::Closed { failed: 0 };
    }

    /// The server failed: whether that opened the breaker.
    pub(super) fn failed(mut self) -> bool {
        self.is_settled = true;
        let mut state = self.breaker.lock();
        let failed = match *state {
            State::Closed { failed } => failed.saturating_add(1),
            State::Probing if self.is_probe => self.breaker.failures,
            // Somebody who came before has opened it.
            State::Open { .. } | State::Probing => return false,
        };
        let opens = failed >= self.breaker.failures;
        *state = match opens {
            true => State::Open { until: Instant::now() + self.breaker.open_for },
            false => State::Closed { failed },
        };
        opens
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.is_probe && !self.is_settled {
            // The next one is the probe.
            *self.breaker.lock() = State::Open { until: Instant::now() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn three_failures_in_a_row_open_it_and_one_probe_closes_it() {
        let breaker = Breaker::new(3, Duration::from_secs(30));
        assert!(!breaker.pass().unwrap().failed());
        assert!(!breaker.pass().unwrap().failed());
        breaker.pass().unwrap().succeeded();
        // Not in a row.
        assert!(!breaker.pass().unwrap().failed());
        assert!(!breaker.pass().unwrap().failed());
        let early = breaker.pass().unwrap();
        assert!(breaker.pass().unwrap().failed());
        assert_eq!(breaker.state(), BreakerState::Open);
        assert!(breaker.pass().is_none());
        // Asked before it was open, and counted no second time.
        assert!(!early.failed());

        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        let probe = breaker.pass().unwrap();
        assert!(breaker.pass().is_none(), "one probe at a time");
        assert!(probe.failed());
        assert!(breaker.pass().is_none(), "open again");

        tokio::time::advance(Duration::from_secs(31)).await;
        // A probe that was given up leaves the place to the next.
        drop(breaker.pass().unwrap());
        breaker.pass().unwrap().succeeded();
        assert_eq!(breaker.state(), BreakerState::Closed);
        assert!(!breaker.pass().unwrap().failed(), "counted from the beginning");
    }
}
