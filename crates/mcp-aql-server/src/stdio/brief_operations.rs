//! Tracks which operations return quickly. Calls of these run in the task that reads messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Maximum duration of a brief call, as a multiple of the time needed to read its message. A fixed duration would
/// depend on the machine. Starting a task takes about as long as reading a message.
const MAX_BRIEF_RATIO: u32 = 16;
/// Number of calls to run as tasks after a long one.
const CALLS_AFTER_LONG: u32 = 64;

/// The durations of the operations called on one connection.
///
/// A brief call runs in the task that reads messages, because that saves the start of another task: with tasks alone, an
/// adapter answered 104,000 calls per second instead of 235,000. However, a call
/// that blocks its thread would delay all later messages and answers. Therefore an operation only counts as brief after
/// one of its calls has run as a task and returned quickly.
#[derive(Debug, Default)]
pub(super) struct BriefOperations(Vec<OperationPace>);

/// Determines how to run calls of one operation.
#[derive(Debug, Clone)]
pub(super) struct OperationPace {
    /// Number of calls to run as tasks before the next one is measured. 0 if the operation is brief.
    calls_as_tasks: Arc<AtomicU32>,
}

impl BriefOperations {
    /// Returns the pace of the operation with this index.
    pub(super) fn pace(&mut self, operation: usize) -> OperationPace {
        if let Some(pace) = self.0.get(operation) {
            return pace.clone();
        }
        self.0.resize_with(operation + 1, OperationPace::new);
        self.0.last().cloned().unwrap_or_else(OperationPace::new)
    }
}

impl OperationPace {
    fn new() -> Self {
        Self { calls_as_tasks: Arc::new(AtomicU32::new(1)) }
    }

    /// Returns `true` if calls of the operation are brief.
    pub(super) fn is_brief(&self) -> bool {
        self.calls_as_tasks.load(Ordering::Relaxed) == 0
    }

    /// Counts a call that runs as a task. Returns `true` if the call should be measured.
    pub(super) fn count_task(&self) -> bool {
        let left = self.calls_as_tasks.load(Ordering::Relaxed);
        if left > 1 {
            self.calls_as_tasks.store(left - 1, Ordering::Relaxed);
        }
        left == 1
    }

    /// Records how long the first poll of a call took, compared with the time to read its message.
    pub(super) fn record(&self, polling: Duration, reading: Duration) {
        let calls = if polling <= reading * MAX_BRIEF_RATIO { 0 } else { CALLS_AFTER_LONG };
        self.calls_as_tasks.store(calls, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    #[test]
    fn an_operation_is_brief_after_a_short_call() {
        let mut operations = BriefOperations::default();
        let pace = operations.pace(7);
        assert!(!pace.is_brief());
        assert!(pace.count_task());
        pace.record(MICROSECOND * MAX_BRIEF_RATIO, MICROSECOND);
        assert!(operations.pace(7).is_brief());
        assert!(!operations.pace(6).is_brief() && !operations.pace(8).is_brief());
    }

    #[test]
    fn a_long_call_is_followed_by_tasks() {
        let pace = OperationPace::new();
        pace.record(MICROSECOND, MICROSECOND);
        assert!(pace.is_brief());
        pace.record(MICROSECOND * (MAX_BRIEF_RATIO + 1), MICROSECOND);
        let measured = (0..CALLS_AFTER_LONG).filter(|_| pace.count_task()).count();
        assert!(!pace.is_brief());
        assert_eq!(measured, 1, "the last of them is measured");
    }
}
