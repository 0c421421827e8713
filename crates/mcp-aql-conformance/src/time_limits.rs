//! The time limits of a run.

use std::time::Duration;

/// The time limits of a run. Set them with [`Settings::time_limits`](crate::Settings::time_limits).
///
/// ```
/// use std::time::Duration;
/// use mcp_aql_conformance::{Settings, TimeLimits};
///
/// let limits = TimeLimits { request: Duration::from_secs(2), ..TimeLimits::default() };
/// let settings = Settings::default().time_limits(limits);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TimeLimits {
    /// Time limit of one request. Defaults to 10 seconds.
    pub request: Duration,
    /// Time limit of the whole run. Defaults to 5 minutes.
    pub run: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self { request: Duration::from_secs(10), run: Duration::from_secs(300) }
    }
}
