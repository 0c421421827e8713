//! The source of time, and arithmetic on instants that cannot overflow.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// The clock for the expiry of tokens and the refill of limits. Use your own in tests, to set the time.
///
/// ```
/// use mcp_aql::testing::TimeSource;
///
/// let fixed = "2031-05-06T07:00:00Z".parse().unwrap();
/// let time = TimeSource::new(move || fixed);
/// assert_eq!(time.now(), fixed);
/// ```
#[derive(Clone)]
pub struct TimeSource(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl TimeSource {
    /// Creates a clock from a function that returns the current time.
    pub fn new(now: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the current time.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0)()
    }
}

impl Default for TimeSource {
    /// Returns the system's clock.
    fn default() -> Self {
        Self::new(Utc::now)
    }
}

impl fmt::Debug for TimeSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TimeSource")
    }
}

/// Formats an instant as the protocol requires: ISO 8601, UTC, milliseconds.
///
/// ```
/// let formatted = mcp_aql_core::internal::util::clock::text("2031-05-06T07:00:00Z".parse().unwrap());
/// assert_eq!(formatted, "2031-05-06T07:00:00.000Z");
/// ```
pub fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Adds a time span to an instant. Saturates at the last representable instant.
pub(crate) fn later(at: DateTime<Utc>, by: TimeDelta) -> DateTime<Utc> {
    at.checked_add_signed(by).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Adds a [`Duration`] to an instant, like [`later`].
pub(crate) fn after(at: DateTime<Utc>, by: Duration) -> DateTime<Utc> {
    later(at, TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX))
}

/// Returns a time span in whole seconds, rounded up.
pub(crate) fn whole_seconds(time: TimeDelta) -> i64 {
    let rest = i64::from(time.subsec_nanos() > 0);
    time.num_seconds().saturating_add(rest).max(0)
}
