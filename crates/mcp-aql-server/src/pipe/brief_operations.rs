//! The operations whose calls run in the task that reads messages, because they return quickly.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

/// How much longer than its message was read a brief operation may run before it returns or waits. A
/// fixed time would depend on the machine. To start a task takes about as long as to read a message.
const MAX_BRIEF_RATIO: u32 = 16;
/// The number of calls that run as tasks after a long one.
const CALLS_AFTER_LONG: u32 = 64;
/// The maximum number of known operations. Names come from the client.
const MAX_OPERATIONS: usize = 4_096;

/// The operations of one connection with their durations.
///
/// A call that blocks its thread would delay the messages behind it. An operation is therefore only
/// brief after a call of it has run as a task and returned quickly.
#[derive(Debug, Default)]
pub(super) struct BriefOperations(HashMap<Box<str>, OperationPace>);

/// How the calls of one operation are started.
#[derive(Debug, Clone)]
pub(super) struct OperationPace {
    /// The number of calls that run as tasks before the next one is measured; 0 if the operation is
    /// brief.
    calls_as_tasks: Arc<AtomicU32>,
}

impl BriefOperations {
    /// Returns the pace of an operation, or `None` if there are too many operations.
    pub(super) fn pace(&mut self, operation: &str) -> Option<OperationPace> {
        if let Some(pace) = self.0.get(operation) {
            return Some(pace.clone());
        }
        (self.0.len() < MAX_OPERATIONS)
            .then(|| self.0.entry(operation.into()).or_insert_with(OperationPace::new).clone())
    }
}

impl OperationPace {
    fn new() -> Self {
        Self { calls_as_tasks: Arc::new(AtomicU32::new(1)) }
    }

    /// Whether calls of the operation are brief.
    pub(super) fn is_brief(&self) -> bool {
        self.calls_as_tasks.load(Ordering::Relaxed) == 0
    }

    /// Polls a call whose message was read in this time, and measures how long it runs.
    pub(super) fn measure<T>(&self, reading: Duration, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let started = Instant::now();
        let polled = poll();
        self.record(started.elapsed() <= reading * MAX_BRIEF_RATIO);
        polled
    }

    /// Counts a call that runs as a task. Returns whether it is to be measured.
    pub(super) fn count_task(&self) -> bool {
        let left = self.calls_as_tasks.load(Ordering::Relaxed);
        if left > 1 {
            self.calls_as_tasks.store(left - 1, Ordering::Relaxed);
        }
        left == 1
    }

    fn record(&self, was_brief: bool) {
        let calls = if was_brief { 0 } else { CALLS_AFTER_LONG };
        self.calls_as_tasks.store(calls, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_brief_after_a_short_call() {
        let mut operations = BriefOperations::default();
        let pace = operations.pace("get_note").unwrap();
        assert!(!pace.is_brief());
        assert!(pace.count_task());
        pace.record(true);
        assert!(operations.pace("get_note").unwrap().is_brief());
        assert!(!operations.pace("list_notes").unwrap().is_brief());
    }

    #[test]
    fn a_long_call_is_followed_by_tasks() {
        let pace = OperationPace::new();
        pace.record(true);
        pace.record(false);
        let measured = (0..CALLS_AFTER_LONG).filter(|_| pace.count_task()).count();
        assert!(!pace.is_brief());
        assert_eq!(measured, 1, "the last of them is measured");
        assert!(pace.measure(Duration::from_secs(60), || Poll::<()>::Pending).is_pending());
        assert!(pace.is_brief());
        let sleep = || {
            std::thread::sleep(Duration::from_millis(1));
            Poll::Ready(())
        };
        assert!(pace.measure(Duration::from_micros(1), sleep).is_ready());
        assert!(!pace.is_brief());
    }

    #[test]
    fn a_client_cannot_fill_the_memory_with_names() {
        let mut operations = BriefOperations::default();
        let known = (0..2 * MAX_OPERATIONS).filter(|n| operations.pace(&n.to_string()).is_some());
        assert_eq!(known.count(), MAX_OPERATIONS);
        assert!(operations.pace("0").is_some());
    }
}
