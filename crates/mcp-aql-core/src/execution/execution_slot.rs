//! Limits the number of executions in this process, per adapter and per session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use mcp_aql_protocol::ErrorCode;
use serde_json::Value;

use super::options::ExecutionOptions;
use crate::error::OperationError;
use crate::util::lock;

/// Suggested delay before another attempt, in seconds. This is a guess, because the end of a call is unpredictable.
const RETRY_AFTER_SECONDS: u64 = 5;

/// Counts the executions of this process, including queued ones.
#[derive(Debug, Default)]
pub(super) struct ExecutionSlots(Mutex<SlotCounts>);

#[derive(Debug, Default)]
struct SlotCounts {
    all: usize,
    /// Counts by account. Callers without one share a count.
    by: HashMap<Option<String>, usize>,
}

/// A slot for one execution. Dropping it releases the slot.
#[derive(Debug)]
pub(crate) struct ExecutionSlot {
    slots: Arc<ExecutionSlots>,
    account: Option<String>,
}

/// Returned when a limit on executions is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitReached {
    /// The limit of the adapter is reached.
    Adapter(usize),
    /// The limit of the caller's session is reached.
    Session(usize),
    /// The limit on calls that wait for their turn is reached.
    Waiting(usize),
}

impl ExecutionSlots {
    fn counts(&self) -> MutexGuard<'_, SlotCounts> {
        lock(&self.0)
    }

    pub(super) fn acquire(
        self: &Arc<Self>,
        account: Option<&str>,
        options: &ExecutionOptions,
    ) -> Result<ExecutionSlot, LimitReached> {
        let account = account.map(str::to_owned);
        let mut counts = self.counts();
        let own = counts.by.get(&account).copied().unwrap_or_default();
        if own >= options.max_running_per_session {
            return Err(LimitReached::Session(options.max_running_per_session));
        }
        if counts.all >= options.max_running {
            return Err(LimitReached::Adapter(options.max_running));
        }
        counts.all += 1;
        counts.by.insert(account.clone(), own + 1);
        Ok(ExecutionSlot { slots: Arc::clone(self), account })
    }
}

impl Drop for ExecutionSlot {
    fn drop(&mut self) {
        let mut counts = self.slots.counts();
        counts.all = counts.all.saturating_sub(1);
        match counts.by.get_mut(&self.account) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(counts.by.remove(&self.account)),
        }
    }
}

impl LimitReached {
    /// Returns `RATE_LIMIT_EXCEEDED` with advice for the caller (REQ-RATE-02).
    pub(crate) fn error(self) -> OperationError {
        let executions = |whose: &str, limit: usize| {
            format!(
                "{whose} may run {limit} executions concurrently. Wait for the end of one (get_execution with \
                 wait_seconds) or cancel one (cancel_execution)"
            )
        };
        let (limit, scope, problem) = match self {
            Self::Adapter(limit) => (limit, "adapter", executions("this adapter", limit)),
            Self::Session(limit) => (limit, "session", executions("this session", limit)),
            Self::Waiting(limit) => {
                let problem =
                    format!("{limit} calls of this adapter wait for others to end. Wait a little");
                (limit, "adapter", problem)
            }
        };
        OperationError::new(
            ErrorCode::RateLimitExceeded,
            format!("API rate limit exceeded: {problem}, then make the same call again"),
        )
        .with_detail("limit", limit)
        .with_detail("remaining", 0)
        .with_detail("scope", scope)
        // The limit has no time window.
        .with_detail("window", Value::Null)
        .with_detail("resets_at", Value::Null)
        .with_detail("retry_after_seconds", RETRY_AFTER_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_takes_its_share_and_no_more() {
        let slots = Arc::<ExecutionSlots>::default();
        let options = ExecutionOptions::new().max_running(3).max_running_per_session(2);
        let first = slots.acquire(Some("one"), &options).unwrap();
        let _second = slots.acquire(Some("one"), &options).unwrap();
        assert_eq!(slots.acquire(Some("one"), &options).unwrap_err(), LimitReached::Session(2));
        let third = slots.acquire(Some("other"), &options).unwrap();
        assert_eq!(slots.acquire(Some("other"), &options).unwrap_err(), LimitReached::Adapter(3));
        assert_eq!(slots.acquire(None, &options).unwrap_err(), LimitReached::Adapter(3));
        drop(first);
        let _again = slots.acquire(None, &options).unwrap();
        drop(third);
        assert!(slots.acquire(Some("one"), &options).is_ok());
        assert!(!slots.counts().by.contains_key(&Some("other".to_owned())), "it is forgotten");
    }

    #[test]
    fn the_refusal_tells_how_to_go_on() {
        // REQ-RATE-02, REQ-ERR-04
        for full in [LimitReached::Adapter(2), LimitReached::Session(2), LimitReached::Waiting(2)] {
            let error = full.error();
            assert!(!crate::text::leaks_internals(error.message()), "{}", error.message());
            assert_eq!(error.details()["retry_after_seconds"], 5);
        }
    }
}
