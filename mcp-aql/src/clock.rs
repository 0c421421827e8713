use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, Utc};

/// Where the time comes from by which tokens expire and limits refill. Tests set their own.
///
/// ```
/// use mcp_aql::TimeSource;
///
/// let fixed = "2031-05-06T07:00:00Z".parse().unwrap();
/// let time = TimeSource::new(move || fixed);
/// assert_eq!(time.now(), fixed);
/// ```
#[derive(Clone)]
pub struct TimeSource(Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>);

impl TimeSource {
    /// Asks this function.
    pub fn new(now: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time now.
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

/// A point in time as the protocol writes it: ISO 8601, UTC, milliseconds.
pub(crate) fn text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
