//! Counts the pending calls of a run, and measures how long its calls take.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::adapter::Operation;
use crate::sync::lock;

/// Measured durations of calls.
#[derive(Debug, Default)]
pub(crate) struct CallTimes {
    calls: AtomicU64,
    /// Total duration of all calls, divided by the number of concurrent ones, in microseconds.
    micros: AtomicU64,
    /// `true` for each operation with a first call longer than `SLOW_CALL`.
    ///
    /// Later calls are not considered. They also take long if many run at once, so the choice of operations would
    /// depend on the load.
    slow: Mutex<BTreeMap<String, bool>>,
}

/// Duration above which a call is slow, probably because its operation waits for another server. A slow operation is
/// used only if no other one is suitable.
const SLOW_CALL: Duration = Duration::from_secs(2);

impl CallTimes {
    /// Adds a call with this duration. `concurrent` is the number of calls running at the same time.
    pub(crate) fn add(&self, took: Duration, concurrent: usize) {
        let micros = took.as_micros() / concurrent.max(1) as u128;
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(micros).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Records the duration of the first call of an operation.
    pub(crate) fn note(&self, operation: &str, took: Duration) {
        lock(&self.slow).entry(operation.to_owned()).or_insert(took > SLOW_CALL);
    }

    /// Returns `true` if the first call of an operation was slow.
    pub(crate) fn is_slow(&self, operation: &str) -> bool {
        lock(&self.slow).get(operation).copied().unwrap_or(false)
    }

    /// Returns the mean time per call, taking concurrency into account.
    pub(crate) fn mean(&self) -> Duration {
        let calls = self.calls.load(Ordering::Relaxed).max(1);
        Duration::from_micros(self.micros.load(Ordering::Relaxed) / calls)
    }
}

/// Numbers of pending calls by operation.
#[derive(Debug, Default)]
pub(crate) struct CallCounts(Mutex<BTreeMap<String, usize>>);

impl CallCounts {
    /// Returns the number of pending calls of an operation.
    pub(crate) fn of(&self, operation: &Operation) -> usize {
        lock(&self.0).get(&operation.name).copied().unwrap_or_default()
    }

    /// Adds calls until the returned value is dropped.
    pub(crate) fn add(&self, calls: &[(&Operation, usize)]) -> PendingCalls<'_> {
        let mut pending = lock(&self.0);
        for (operation, count) in calls {
            *pending.entry(operation.name.clone()).or_default() += count;
        }
        let calls = calls.iter().map(|(operation, count)| (operation.name.clone(), *count));
        PendingCalls { counts: self, calls: calls.collect() }
    }
}

/// Pending calls of limited operations and of operations that create items. Drop it once the calls have ended, because
/// they count until then.
pub(crate) struct PendingCalls<'r> {
    counts: &'r CallCounts,
    calls: BTreeMap<String, usize>,
}

impl Drop for PendingCalls<'_> {
    fn drop(&mut self) {
        let mut pending = lock(&self.counts.0);
        for (operation, calls) in &self.calls {
            if let Some(count) = pending.get_mut(operation) {
                *count = count.saturating_sub(*calls);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_decides_whether_an_operation_is_slow() {
        let times = CallTimes::default();
        times.note("browse_beds", Duration::from_secs(7));
        times.note("browse_beds", Duration::from_millis(20));
        times.note("list_beds", Duration::from_millis(20));
        times.note("list_beds", Duration::from_secs(7));
        let is_slow = ["browse_beds", "list_beds", "get_bed"].map(|name| times.is_slow(name));
        assert_eq!(is_slow, [true, false, false]);
    }
}
