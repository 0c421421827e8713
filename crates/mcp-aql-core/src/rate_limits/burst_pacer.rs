//! Paces the calls of a limit that allows a burst.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::Duration;

use governor::clock::{Clock, Reference as _};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use super::declaration::ApiLimit;
use crate::util::clock::TimeSource;
use crate::util::sync::lock;

/// Allows an initial burst, and spreads all further calls evenly over the window of the limit.
pub(crate) struct BurstPacer(
    RateLimiter<NotKeyed, InMemoryState, MonotonicClock, NoOpMiddleware<Duration>>,
);

impl BurstPacer {
    /// Creates the pacer of a limit. Returns `None` if the limit has no burst.
    pub(crate) fn of(limit: &ApiLimit, time: &TimeSource) -> Option<Self> {
        let burst = NonZeroU32::new(limit.burst?)?;
        let one =
            Duration::from_micros(limit.window.micros().unsigned_abs()).checked_div(limit.limit)?;
        let quota = Quota::with_period(one)?.allow_burst(burst);
        Some(Self(RateLimiter::direct_with_clock(quota, MonotonicClock::new(time.clone()))))
    }

    /// Admits one call.
    ///
    /// # Errors
    ///
    /// Returns how long the caller must wait.
    pub(crate) fn check(&self) -> Result<(), Duration> {
        self.0.check().map_err(|refused| {
            let wait = refused.earliest_possible().duration_since(self.0.clock().now());
            Duration::from_nanos(wait.as_u64())
        })
    }
}

/// A monotonic clock based on the adapter's clock. If that clock is set back, this one continues from its last
/// reading, so that a correction of the system time does not block calls.
struct MonotonicClock {
    time: TimeSource,
    /// The last reading in microseconds, and the total time elapsed at that reading.
    last: Mutex<(i64, Duration)>,
}

impl MonotonicClock {
    fn new(time: TimeSource) -> Self {
        let now = time.now().timestamp_micros();
        Self { time, last: Mutex::new((now, Duration::ZERO)) }
    }
}

impl Clock for MonotonicClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        let now = self.time.now().timestamp_micros();
        let mut last = lock(&self.last);
        let passed = u64::try_from(now.saturating_sub(last.0)).unwrap_or_default();
        *last = (now, last.1.saturating_add(Duration::from_micros(passed)));
        last.1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

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
}
