//! Paces the calls of a limit that allows a burst.

use std::sync::Mutex;
use std::time::Duration;

use super::declaration::ApiLimit;
use crate::util::clock::TimeSource;
use crate::util::lock;

/// Allows an initial burst, and spreads all further calls evenly over the window of the limit.
///
/// This is the generic cell rate algorithm. It stores one time instead of a time for each call.
pub(crate) struct BurstPacer {
    /// The time between two calls that are spread evenly.
    interval: Duration,
    /// How far ahead of the even spread a call may be.
    tolerance: Duration,
    time: TimeSource,
    state: Mutex<PacerState>,
}

/// The state of a pacer, on a clock that starts with the pacer.
struct PacerState {
    /// The last reading of the adapter's clock in microseconds.
    reading: i64,
    /// The total time elapsed at that reading. If the adapter's clock is set back, it continues from the last reading,
    /// so that a correction of the system time does not block calls.
    elapsed: Duration,
    /// When the next call is due if all calls are spread evenly.
    due: Duration,
}

impl BurstPacer {
    /// Creates the pacer of a limit. Returns `None` if the limit has no burst.
    pub(crate) fn of(limit: &ApiLimit, time: &TimeSource) -> Option<Self> {
        let further = limit.burst?.checked_sub(1)?;
        let window = Duration::from_micros(limit.window.micros().unsigned_abs());
        let interval = window.checked_div(limit.limit).filter(|interval| !interval.is_zero())?;
        let reading = time.now().timestamp_micros();
        let state = PacerState { reading, elapsed: Duration::ZERO, due: Duration::ZERO };
        Some(Self {
            interval,
            tolerance: interval.saturating_mul(further),
            time: time.clone(),
            state: Mutex::new(state),
        })
    }

    /// Admits one call.
    ///
    /// # Errors
    ///
    /// Returns how long the caller must wait.
    pub(crate) fn check(&self) -> Result<(), Duration> {
        let mut state = lock(&self.state);
        // Read the clock with the lock held. Otherwise, another thread with an earlier reading could set `reading`
        // back, and the same time would be counted twice.
        let reading = self.time.now().timestamp_micros();
        let passed = u64::try_from(reading.saturating_sub(state.reading)).unwrap_or_default();
        state.reading = reading;
        state.elapsed = state.elapsed.saturating_add(Duration::from_micros(passed));
        let earliest = state.due.saturating_sub(self.tolerance);
        if state.elapsed < earliest {
            return Err(earliest.saturating_sub(state.elapsed));
        }
        state.due = state.due.max(state.elapsed).saturating_add(self.interval);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_burst_goes_through_and_the_rest_is_spread() {
        let clock = Arc::new(AtomicI64::new(1_000_000));
        let seconds = Arc::clone(&clock);
        let time = TimeSource::new(move || {
            chrono::DateTime::from_timestamp(seconds.load(Ordering::Relaxed), 0).unwrap()
        });
        let pacer = BurstPacer::of(&ApiLimit::global(60).burst(3), &time).unwrap();
        for _ in 0..3 {
            assert_eq!(pacer.check(), Ok(()));
        }
        assert_eq!(pacer.check(), Err(Duration::from_secs(1)));
        clock.fetch_add(1, Ordering::Relaxed);
        assert_eq!(pacer.check(), Ok(()));
        assert!(pacer.check().is_err());
        // Set the clock back by a day, then advance it by a second.
        clock.fetch_sub(86_400, Ordering::Relaxed);
        assert_eq!(pacer.check(), Err(Duration::from_secs(1)));
        clock.fetch_add(1, Ordering::Relaxed);
        assert_eq!(pacer.check(), Ok(()));
        assert!(BurstPacer::of(&ApiLimit::global(60), &time).is_none());
    }

    proptest! {
        /// A bucket that holds one token for each call of the burst, and gets one back per interval, admits the same
        /// calls.
        #[test]
        fn it_admits_what_a_token_bucket_admits(
            limit in 1_u32..200,
            burst in 1_u32..20,
            steps in prop::collection::vec(0_i64..5_000_000, 1..200),
        ) {
            let clock = Arc::new(AtomicI64::new(0));
            let micros = Arc::clone(&clock);
            let time = TimeSource::new(move || {
                chrono::DateTime::from_timestamp_micros(micros.load(Ordering::Relaxed)).unwrap()
            });
            let limit = ApiLimit::global(limit).burst(burst);
            let pacer = BurstPacer::of(&limit, &time).unwrap();
            let interval = i128::try_from(pacer.interval.as_nanos()).unwrap();
            let capacity = interval * i128::from(burst);
            let mut tokens = capacity;
            for step in steps {
                clock.fetch_add(step, Ordering::Relaxed);
                tokens = capacity.min(tokens + i128::from(step) * 1_000);
                let expected = if tokens >= interval {
                    tokens -= interval;
                    Ok(())
                } else {
                    Err(Duration::from_nanos(u64::try_from(interval - tokens).unwrap()))
                };
                prop_assert_eq!(pacer.check(), expected);
            }
        }
    }
}
