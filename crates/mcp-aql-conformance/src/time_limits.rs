//! The time limits of a run.

use std::time::Duration;

/// Time limits of a run.
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
    /// The time limit of one request.
    pub request: Duration,
    /// The time limit of the whole run.
    pub run: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self { request: Duration::from_secs(10), run: Duration::from_secs(300) }
    }
}
