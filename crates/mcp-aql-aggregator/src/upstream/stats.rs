//! Counters and latencies of a server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_aql_core::internal::util::lock;

use super::Failure;
use super::failure_causes::FailureCauses;
use super::secrets::Secrets;

/// Number of recent calls from which percentiles are computed.
const MAX_SAMPLES: usize = 512;

/// Counters and samples of a server.
#[derive(Debug, Default)]
pub(super) struct Stats {
    pub(super) bytes_in: AtomicU64,
    pub(super) bytes_out: AtomicU64,
    pub(super) calls: AtomicU64,
    pub(super) cancelled: AtomicU64,
    /// Answers that arrived after the call had been abandoned.
    pub(super) late: AtomicU64,
    pub(super) starts: AtomicU64,
    /// The causes of failed calls and starts.
    pub(super) causes: FailureCauses,
    measured: Mutex<Measurements>,
}

#[derive(Debug, Default)]
struct Measurements {
    /// Latencies in microseconds: a ring buffer with its oldest entry at `next`.
    samples: Vec<u32>,
    next: usize,
    failures: BTreeMap<&'static str, u64>,
}

/// Percentiles of the latency of the last 512 answered calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latency {
    /// The median.
    pub(crate) p50: Duration,
    /// The 95th percentile.
    pub(crate) p95: Duration,
    /// The 99th percentile.
    pub(crate) p99: Duration,
}

impl Stats {
    /// Creates empty statistics. `secrets` are masked in their causes.
    pub(super) fn new(secrets: Arc<Secrets>) -> Self {
        Self { causes: FailureCauses::new(secrets), ..Self::default() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Measurements> {
        lock(&self.measured)
    }

    pub(super) fn count(counter: &AtomicU64, more: usize) {
        counter.fetch_add(more as u64, Relaxed);
    }

    pub(super) fn answered(&self, after: Duration) {
        let micros = u32::try_from(after.as_micros()).unwrap_or(u32::MAX);
        let mut measured = self.lock();
        let next = measured.next;
        match measured.samples.get_mut(next) {
            Some(oldest) => *oldest = micros,
            None => measured.samples.push(micros),
        }
        measured.next = (next + 1) % MAX_SAMPLES;
    }

    pub(super) fn failed(&self, failure: Failure) {
        *self.lock().failures.entry(failure.kind()).or_default() += 1;
    }

    pub(super) fn failures(&self) -> BTreeMap<&'static str, u64> {
        self.lock().failures.clone()
    }

    pub(super) fn latency(&self) -> Option<Latency> {
        let mut samples = self.lock().samples.clone();
        samples.sort_unstable();
        // The smallest sample such that at least this percentage of all samples is not larger.
        let at = |percent: usize| {
            let place = (samples.len() * percent).div_ceil(100).saturating_sub(1);
            samples.get(place).map(|micros| Duration::from_micros((*micros).into()))
        };
        Some(Latency { p50: at(50)?, p95: at(95)?, p99: at(99)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_last_calls() {
        let stats = Stats::default();
        assert_eq!(stats.latency(), None);
        stats.answered(Duration::from_micros(7));
        let only = Duration::from_micros(7);
        assert_eq!(stats.latency(), Some(Latency { p50: only, p95: only, p99: only }));
        // These samples are overwritten before the percentiles are read.
        (0..MAX_SAMPLES).for_each(|_| stats.answered(Duration::from_secs(9)));
        (1..=MAX_SAMPLES as u64).rev().for_each(|n| stats.answered(Duration::from_micros(n)));
        let latency = stats.latency().unwrap();
        assert_eq!(latency.p50, Duration::from_micros(256));
        assert_eq!(latency.p95, Duration::from_micros(487));
        assert_eq!(latency.p99, Duration::from_micros(507));
    }

    #[test]
    fn failures_are_counted_by_kind() {
        let stats = Stats::default();
        stats.failed(Failure::Timeout(Duration::from_secs(3)));
        stats.failed(Failure::Timeout(Duration::from_secs(1)));
        stats.failed(Failure::Exited);
        assert_eq!(stats.failures(), BTreeMap::from([("timeout", 2), ("exited", 1)]));
    }
}
