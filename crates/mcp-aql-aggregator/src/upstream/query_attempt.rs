//! One attempt to query a server: how long it waited, and how it ended.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use mcp_aql_core::internal::util::lock;
use tokio::time::Instant;

use super::breaker::BreakerPermit;
use super::{FailedCall, Failure, Shared};
use crate::ask::display_name;

/// One query's use of a server: its time limit, and its report to the circuit breaker.
pub(super) struct QueryAttempt<'s> {
    pub(super) shared: &'s Shared,
    /// The breaker's permission. `None` after the outcome was reported.
    pub(super) pass: Option<BreakerPermit<'s>>,
    pub(super) begun: Instant,
    pub(super) until: Instant,
    /// Time from the start to the deadline.
    pub(super) limit: Duration,
    /// Time spent waiting for the server to become ready.
    pub(super) waited: Mutex<Duration>,
    /// The time at which the first call was sent.
    pub(super) sent: OnceLock<Instant>,
    pub(super) is_answered: AtomicBool,
}

impl<'s> QueryAttempt<'s> {
    pub(super) fn new(
        shared: &'s Shared,
        pass: BreakerPermit<'s>,
        begun: Instant,
        until: Instant,
    ) -> Self {
        Self {
            shared,
            pass: Some(pass),
            begun,
            until,
            limit: until.saturating_duration_since(begun),
            waited: Mutex::default(),
            sent: OnceLock::new(),
            is_answered: AtomicBool::new(false),
        }
    }

    pub(super) fn waited(&self) -> Duration {
        *lock(&self.waited)
    }

    pub(super) fn has_waited(&self, more: Duration) {
        *lock(&self.waited) += more;
    }

    /// Returns the conclusion about the server from a failed call that took this long.
    pub(super) fn liveness(&self, failure: Failure, took: Duration) -> Liveness {
        let whole = self.shared.whole_limit();
        let is = |true_of: bool| if true_of { Liveness::Failing } else { Liveness::Alive };
        match failure {
            // Waiting for the start or for other calls may have left the server almost no time.
            Failure::Timeout(_) if took * 10 < whole * 9 => Liveness::Unknown,
            // A server that rejects a call is alive, unless it takes as long as a dead one.
            _ => is(failure.is_of_server() || took * 2 >= whole),
        }
    }

    pub(super) fn settle(mut self, liveness: Liveness, failure: Option<Failure>) {
        self.report(liveness, failure);
    }

    pub(super) fn report(&mut self, liveness: Liveness, failure: Option<Failure>) {
        let Some(pass) = self.pass.take() else { return };
        match liveness {
            Liveness::Unknown => {}
            Liveness::Alive => pass.succeeded(),
            Liveness::Failing => {
                if pass.failed() {
                    let why = failure
                        .map_or_else(|| "the caller gave up".to_owned(), |it| it.to_string());
                    let server = &self.shared.config.name;
                    tracing::warn!(parent: &self.shared.span, server, failure = why, "circuit open");
                    self.shared.doubted.notify_one();
                }
            }
        }
    }
}

impl Drop for QueryAttempt<'_> {
    /// Reports a query that the caller abandoned. Without this, clients that always give up early
    /// would query a dead server forever.
    fn drop(&mut self) {
        let waited = self.sent.get().map(Instant::elapsed).unwrap_or_default();
        if waited * 2 >= self.shared.whole_limit() && !self.is_answered.load(Relaxed) {
            self.report(Liveness::Failing, None);
        }
    }
}

/// The conclusion about the server from the outcome of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Liveness {
    /// The server was not called, or not for long.
    Unknown,
    Alive,
    Failing,
}

/// A call that failed.
#[derive(Debug)]
pub(super) struct CallFailure {
    pub(super) tool: String,
    pub(super) failure: Failure,
    pub(super) liveness: Liveness,
}

impl CallFailure {
    pub(super) fn to_failed_call(&self) -> FailedCall {
        FailedCall { tool: display_name(&self.tool), failure: self.failure }
    }
}

/// The reason why a query has no answer.
#[derive(Debug)]
pub(super) struct AttemptFailure {
    pub(super) failure: Failure,
    pub(super) liveness: Liveness,
    /// If `true`, a new session may succeed.
    pub(super) is_expired: bool,
}

impl AttemptFailure {
    pub(super) const fn not_called(failure: Failure) -> Self {
        Self { failure, liveness: Liveness::Unknown, is_expired: false }
    }

    /// Summarizes calls that all failed by the worst of them.
    pub(super) fn of(failed: &[CallFailure], has_ended: bool, is_expired: bool) -> Self {
        let worst = failed.iter().find(|call| call.liveness == Liveness::Failing);
        let Some(told) = worst.or(failed.first()) else {
            return Self::not_called(Failure::NoQueryTool);
        };
        let liveness = if has_ended { Liveness::Failing } else { told.liveness };
        Self { failure: told.failure, liveness, is_expired }
    }
}
