//! The source of time, and arithmetic on instants that cannot overflow.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// The source of time by which tokens expire and limits refill. Tests set their own.
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
    /// Calls this function for each instant.
    pub fn new(now: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the current time.
    pub fn now(&self) -> DateTime<Utc> {
        (self.0)()
    }
}

impl Default for TimeSource {
    /// The system's clock.
    fn default() -> Self {
        Self::new(Utc::now)
    }
}

impl fmt::Debug for TimeSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TimeSource")
    }
}

/// Formats an instant as the protocol does: ISO 8601, UTC, milliseconds.
pub fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Returns the instant after `by`, at most the last one that can be represented.
pub(crate) fn later(at: DateTime<Utc>, by: TimeDelta) -> DateTime<Utc> {
    at.checked_add_signed(by).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Returns the instant after `by`, as [`later`] does.
pub(crate) fn after(at: DateTime<Utc>, by: Duration) -> DateTime<Utc> {
    later(at, TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX))
}

/// Returns the whole seconds of a time span, rounded up.
pub(crate) fn whole_seconds(time: TimeDelta) -> i64 {
    let rest = i64::from(time.subsec_nanos() > 0);
    time.num_seconds().saturating_add(rest).max(0)
}
