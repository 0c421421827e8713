//! Locks agents and sessions out after too many failed attempts.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// The window in which failed attempts are counted, in seconds.
pub(super) const WINDOW_SECONDS: i64 = 60;
/// The maximum duration of a lock, in seconds.
const MAX_LOCK_SECONDS: i64 = 3_600;
/// The time since the last lock after which the next one has the minimum duration again, in seconds.
const LOCK_RESET_SECONDS: i64 = 24 * 3_600;

/// The failed attempts of an agent or a session, and its lock (REQ-OOB-12).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RetryLockout {
    failed: Vec<DateTime<Utc>>,
    lock: Option<Lock>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Lock {
    at: DateTime<Utc>,
    seconds: i64,
    /// The number of consecutive earlier locks. Each lock lasts twice as long as the one before.
    nth: u32,
}

impl RetryLockout {
    /// Checks whether another attempt is allowed. The error is the number of seconds to wait.
    pub(super) fn check(&mut self, now: DateTime<Utc>, most: usize) -> Result<(), u64> {
        self.rebase(now);
        if let Some(lock) = &self.lock {
            let left = lock.seconds - (now - lock.at).num_seconds();
            if left > 0 {
                return Err(u64::try_from(left).unwrap_or(1));
            }
            if (now - lock.at).num_seconds() > lock.seconds + LOCK_RESET_SECONDS {
                self.lock = None;
            }
        }
        if self.failed.len() < most {
            return Ok(());
        }
        let nth = self.lock.as_ref().map_or(0, |lock| lock.nth + 1);
        let seconds = WINDOW_SECONDS.saturating_mul(1 << nth.min(10)).min(MAX_LOCK_SECONDS);
        self.lock = Some(Lock { at: now, seconds, nth });
        self.failed.clear();
        Err(u64::try_from(seconds).unwrap_or(1))
    }

    /// Counts a failed attempt.
    pub(super) fn fail(&mut self, now: DateTime<Utc>) {
        self.rebase(now);
        self.failed.push(now);
    }

    /// Removes the last failed attempt.
    pub(super) fn forgive(&mut self) {
        self.failed.pop();
    }

    /// Removes old attempts, and adjusts times after `now` in case the clock was set back.
    fn rebase(&mut self, now: DateTime<Utc>) {
        rebase(&mut self.failed, now);
        if let Some(lock) = &mut self.lock {
            lock.at = lock.at.min(now);
        }
    }
}

/// Keeps the times within the window before `now`. Later times are moved to `now`.
pub(super) fn rebase(times: &mut Vec<DateTime<Utc>>, now: DateTime<Utc>) {
    for time in times.iter_mut() {
        *time = (*time).min(now);
    }
    times.retain(|time| now - *time < TimeDelta::seconds(WINDOW_SECONDS));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_900_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn ten_tries_a_minute_and_longer_and_longer_locks() {
        // REQ-OOB-12, REQ-OOB-13
        let mut tries = RetryLockout::default();
        for second in 0..10 {
            assert_eq!(tries.check(at(second), 10), Ok(()));
            tries.fail(at(second));
        }
        assert_eq!(tries.check(at(10), 10), Err(60));
        assert_eq!(tries.check(at(69), 10), Err(1));
        assert_eq!(tries.check(at(70), 10), Ok(()));
        (0..10).for_each(|_| tries.fail(at(71)));
        assert_eq!(tries.check(at(71), 10), Err(120));
        // The lock survives a restart.
        let text = serde_json::to_string(&tries).unwrap();
        let mut tries: RetryLockout = serde_json::from_str(&text).unwrap();
        assert_eq!(tries.check(at(100), 10), Err(91));
        // Setting the clock back neither removes the lock nor extends it.
        assert_eq!(tries.check(at(-5000), 10), Err(120));
        assert_eq!(tries.check(at(-4940), 10), Err(60));
        (0..10).for_each(|_| tries.fail(at(100_000)));
        assert_eq!(tries.check(at(100_000), 10), Err(60));
    }

    #[test]
    fn the_window_slides() {
        let mut tries = RetryLockout::default();
        (0..9).for_each(|_| tries.fail(at(0)));
        tries.fail(at(59));
        assert_eq!(tries.check(at(60), 10), Ok(()));
    }
}
