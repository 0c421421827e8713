//! A circuit breaker: protects queries from an unavailable server.
//!
//! A server that fails several times in a row is not called for a while. Then a single call, the
//! probe, decides whether it receives calls again.

use std::sync::Mutex;
use std::time::Duration;

use mcp_aql_core::internal::util::lock;
use tokio::time::Instant;

/// The circuit breaker of one server.
#[derive(Debug)]
pub(super) struct Breaker {
    /// Number of consecutive failures that open the breaker.
    failures: u32,
    /// Time for which the breaker stays open.
    open_for: Duration,
    state: Mutex<BreakerPhase>,
}

#[derive(Debug, Clone, Copy)]
enum BreakerPhase {
    Closed { failed: u32 },
    Open { until: Instant },
    Probing,
}

/// The state of a server's breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BreakerState {
    /// All calls may pass.
    Closed,
    /// No call may pass.
    Open,
    /// One call may pass, and its outcome decides.
    HalfOpen,
}

impl BreakerState {
    /// Returns the name used in `list_servers`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "halfOpen",
        }
    }
}

/// Permission for one call. If it is dropped without a report, the call was abandoned and does not
/// count.
#[derive(Debug)]
pub(super) struct BreakerPermit<'b> {
    breaker: &'b Breaker,
    is_probe: bool,
    is_settled: bool,
}

impl Breaker {
    pub(super) fn new(failures: u32, open_for: Duration) -> Self {
        let state = Mutex::new(BreakerPhase::Closed { failed: 0 });
        Self { failures: failures.max(1), open_for, state }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BreakerPhase> {
        lock(&self.state)
    }

    /// Returns permission for a call, unless the breaker is open.
    pub(super) fn permit(&self) -> Option<BreakerPermit<'_>> {
        let mut state = self.lock();
        let is_probe = match *state {
            BreakerPhase::Closed { .. } => false,
            BreakerPhase::Open { until } if until <= Instant::now() => {
                *state = BreakerPhase::Probing;
                true
            }
            BreakerPhase::Open { .. } | BreakerPhase::Probing => return None,
        };
        Some(BreakerPermit { breaker: self, is_probe, is_settled: false })
    }

    pub(super) fn state(&self) -> BreakerState {
        match *self.lock() {
            BreakerPhase::Closed { .. } => BreakerState::Closed,
            BreakerPhase::Open { until } if until > Instant::now() => BreakerState::Open,
            BreakerPhase::Open { .. } | BreakerPhase::Probing => BreakerState::HalfOpen,
        }
    }
}

impl BreakerPermit<'_> {
    /// Reports that the server is alive.
    pub(super) fn succeeded(mut self) {
        self.is_settled = true;
        *self.breaker.lock() = BreakerPhase::Closed { failed: 0 };
    }

    /// Reports that the server failed. Returns `true` if this report opened the breaker.
    pub(super) fn failed(mut self) -> bool {
        self.is_settled = true;
        let mut state = self.breaker.lock();
        let failed = match *state {
            BreakerPhase::Closed { failed } => failed.saturating_add(1),
            BreakerPhase::Probing if self.is_probe => self.breaker.failures,
            // An earlier call has already opened the breaker.
            BreakerPhase::Open { .. } | BreakerPhase::Probing => return false,
        };
        let opens = failed >= self.breaker.failures;
        *state = match opens {
            true => BreakerPhase::Open { until: Instant::now() + self.breaker.open_for },
            false => BreakerPhase::Closed { failed },
        };
        opens
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        if self.is_probe && !self.is_settled {
            // The next call becomes the probe.
            *self.breaker.lock() = BreakerPhase::Open { until: Instant::now() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn three_consecutive_failures_open_it_and_one_probe_closes_it() {
        let breaker = Breaker::new(3, Duration::from_secs(30));
        assert!(!breaker.permit().unwrap().failed());
        assert!(!breaker.permit().unwrap().failed());
        breaker.permit().unwrap().succeeded();
        // The success in between resets the count.
        assert!(!breaker.permit().unwrap().failed());
        assert!(!breaker.permit().unwrap().failed());
        let early = breaker.permit().unwrap();
        assert!(breaker.permit().unwrap().failed());
        assert_eq!(breaker.state(), BreakerState::Open);
        assert!(breaker.permit().is_none());
        // A call that started before the breaker opened does not count again.
        assert!(!early.failed());

        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        let probe = breaker.permit().unwrap();
        assert!(breaker.permit().is_none(), "one probe at a time");
        assert!(probe.failed());
        assert!(breaker.permit().is_none(), "open again");

        tokio::time::advance(Duration::from_secs(31)).await;
        // An abandoned probe makes the next call the probe.
        drop(breaker.permit().unwrap());
        breaker.permit().unwrap().succeeded();
        assert_eq!(breaker.state(), BreakerState::Closed);
        assert!(!breaker.permit().unwrap().failed(), "counted from the beginning");
    }
}
