//! Declares rate limits and quotas.

use std::fmt;

use mcp_aql_protocol::SemanticCategory;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Length of a limit's time window. Windows slide: they end at the present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// 1 second.
    Second,
    /// 60 seconds.
    Minute,
    /// 60 minutes.
    Hour,
    /// 24 hours.
    Day,
}

impl Window {
    /// Returns the protocol's name: `second`, `minute`, `hour` or `day`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    pub(super) const fn seconds(self) -> i64 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3_600,
            Self::Day => 86_400,
        }
    }

    pub(super) const fn micros(self) -> i64 {
        self.seconds() * 1_000_000
    }
}

/// Selects the calls that a limit counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    Global,
    Endpoint(String),
    Category(SemanticCategory),
}

impl Scope {
    /// Returns `true` if the limit counts calls of this endpoint and category.
    pub(super) fn covers(&self, endpoint: &str, category: SemanticCategory) -> bool {
        match self {
            Self::Global => true,
            Self::Endpoint(name) => name == endpoint,
            Self::Category(counted) => *counted == category,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => formatter.write_str("global"),
            Self::Endpoint(name) => write!(formatter, "endpoint:{name}"),
            Self::Category(category) => write!(formatter, "category:{}", category.as_str()),
        }
    }
}

/// A maximum number of calls in any window of a given length.
///
/// Declare one for each limit of the wrapped API, so that calls are rejected before the API rejects them:
///
/// ```
/// use mcp_aql::SemanticCategory;
/// use mcp_aql::rate_limits::{ApiLimit, Window};
///
/// ApiLimit::global(100).per(Window::Minute);
/// ApiLimit::endpoint("create", 10).per(Window::Hour).burst(2);
/// ApiLimit::category(SemanticCategory::Delete, 50)
///     .per(Window::Day)
///     .remaining_header("X-RateLimit-Remaining")
///     .reset_header("X-RateLimit-Reset");
/// ```
///
/// Source: adapter/rate-limiting §2.2 (REQ-RATE-03).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct ApiLimit {
    pub(crate) scope: Scope,
    pub(crate) limit: u32,
    pub(crate) window: Window,
    pub(crate) burst: Option<u32>,
    pub(crate) remaining_header: Option<String>,
    pub(crate) reset_header: Option<String>,
}

impl ApiLimit {
    /// Creates a limit on all calls except those of `introspect`.
    pub fn global(limit: u32) -> Self {
        Self::of(Scope::Global, limit)
    }

    /// Creates a limit on the calls of one endpoint family, for example `create`.
    pub fn endpoint(name: impl Into<String>, limit: u32) -> Self {
        Self::of(Scope::Endpoint(name.into()), limit)
    }

    /// Creates a limit on the calls of one category.
    pub fn category(category: SemanticCategory, limit: u32) -> Self {
        Self::of(Scope::Category(category), limit)
    }

    pub(super) fn of(scope: Scope, limit: u32) -> Self {
        Self {
            scope,
            limit,
            window: Window::Minute,
            burst: None,
            remaining_header: None,
            reset_header: None,
        }
    }

    /// Sets the length of the window. Defaults to a minute.
    pub fn per(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// Sets how many calls may arrive at once. Further calls are spread evenly over the window.
    ///
    /// Each process paces its own calls. Defaults to all calls of the window.
    pub fn burst(mut self, calls: u32) -> Self {
        self.burst = Some(calls);
        self
    }

    /// Sets the header in which the wrapped API reports the number of remaining calls.
    pub fn remaining_header(mut self, name: impl Into<String>) -> Self {
        self.remaining_header = Some(name.into());
        self
    }

    /// Sets the header in which the wrapped API reports when the limit resets. Accepted values are seconds from now,
    /// seconds since 1970, and dates.
    pub fn reset_header(mut self, name: impl Into<String>) -> Self {
        self.reset_header = Some(name.into());
        self
    }

    /// Returns the key of the limit's counter. It is unique among limits.
    pub(super) fn id(&self) -> String {
        format!("{}:{}", self.scope, self.window.as_str())
    }
}

/// The unit and the time span of a quota.
///
/// Source: adapter/rate-limiting §3.1 (REQ-RATE-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Calls in a minute.
    RequestsPerMinute,
    /// Calls in an hour.
    RequestsPerHour,
    /// Calls in 24 hours.
    RequestsPerDay,
    /// Tokens in a minute.
    TokensPerMinute,
    /// Tokens in an hour.
    TokensPerHour,
    /// Tokens in 24 hours.
    TokensPerDay,
    /// Cost in an hour.
    CostPerHour,
    /// Cost in 24 hours.
    CostPerDay,
    /// Cost in a calendar month (UTC).
    CostPerMonth,
}

/// The time span of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// A sliding window that ends now.
    Sliding(Window),
    /// The calendar month (UTC).
    Month,
}

/// The unit of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Requests,
    Tokens,
    /// The cost, in billionths of a unit of the currency. Integers keep sums exact.
    Cost,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 9] = [
        Self::RequestsPerMinute,
        Self::RequestsPerHour,
        Self::RequestsPerDay,
        Self::TokensPerMinute,
        Self::TokensPerHour,
        Self::TokensPerDay,
        Self::CostPerHour,
        Self::CostPerDay,
        Self::CostPerMonth,
    ];

    /// Returns the protocol's name, for example `requests_per_hour`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestsPerMinute => "requests_per_minute",
            Self::RequestsPerHour => "requests_per_hour",
            Self::RequestsPerDay => "requests_per_day",
            Self::TokensPerMinute => "tokens_per_minute",
            Self::TokensPerHour => "tokens_per_hour",
            Self::TokensPerDay => "tokens_per_day",
            Self::CostPerHour => "cost_per_hour",
            Self::CostPerDay => "cost_per_day",
            Self::CostPerMonth => "cost_per_month",
        }
    }

    pub(super) const fn span(self) -> Span {
        match self {
            Self::RequestsPerMinute | Self::TokensPerMinute => Span::Sliding(Window::Minute),
            Self::RequestsPerHour | Self::TokensPerHour | Self::CostPerHour => {
                Span::Sliding(Window::Hour)
            }
            Self::RequestsPerDay | Self::TokensPerDay | Self::CostPerDay => {
                Span::Sliding(Window::Day)
            }
            Self::CostPerMonth => Span::Month,
        }
    }

    pub(super) const fn unit(self) -> Unit {
        match self {
            Self::RequestsPerMinute | Self::RequestsPerHour | Self::RequestsPerDay => {
                Unit::Requests
            }
            Self::TokensPerMinute | Self::TokensPerHour | Self::TokensPerDay => Unit::Tokens,
            Self::CostPerHour | Self::CostPerDay | Self::CostPerMonth => Unit::Cost,
        }
    }
}

impl Unit {
    /// Converts an amount to counted units. Invalid amounts count as 0, because the builder reports them.
    pub(super) fn count(self, amount: f64) -> u64 {
        match self {
            Self::Requests | Self::Tokens => amount.round() as u64,
            Self::Cost => billionths(amount),
        }
    }

    /// Converts counted units to the amount shown to callers.
    pub(super) fn show(self, count: u64) -> Value {
        match self {
            Self::Requests | Self::Tokens => count.into(),
            Self::Cost => (count as f64 / 1e9).into(),
        }
    }
}

/// Converts a cost to billionths. Rounds up, so that many small costs are not lost. Saturates at the limits of `u64`.
pub(crate) fn billionths(amount: f64) -> u64 {
    let exact = amount * 1e9;
    // The product of a decimal fraction may be slightly too large: 0.07 * 1e9 is 70000000.00000001.
    (exact - (exact * 1e-12).min(0.5)).ceil() as u64
}

/// A limit on usage, with up to three thresholds.
///
/// | from | effect |
/// |---|---|
/// | `warn` | calls succeed with a warning |
/// | `pause` | each call needs a `quota_continue_…` token |
/// | `hard_stop` | calls are rejected |
///
/// ```
/// use mcp_aql::rate_limits::{Metric, Quota};
///
/// Quota::new(Metric::RequestsPerHour).warn(800).pause(950).hard_stop(1000);
/// Quota::new(Metric::CostPerMonth).hard_stop(25.5);
/// ```
///
/// Without `warn`, warnings start at four fifths of `hard_stop`, or of `pause` if there is no `hard_stop`.
///
/// Source: adapter/rate-limiting §3 (REQ-RATE-04, REQ-WRN-06).
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[must_use]
pub struct Quota {
    pub(crate) metric: Metric,
    pub(crate) warn: Option<f64>,
    pub(crate) pause: Option<f64>,
    pub(crate) hard_stop: Option<f64>,
}

impl Quota {
    /// Creates a quota for this metric. Set at least one threshold.
    pub fn new(metric: Metric) -> Self {
        Self { metric, warn: None, pause: None, hard_stop: None }
    }

    /// Sets the amount from which replies carry a warning.
    pub fn warn(mut self, amount: impl Into<f64>) -> Self {
        self.warn = Some(amount.into());
        self
    }

    /// Sets the amount from which calls must be confirmed.
    pub fn pause(mut self, amount: impl Into<f64>) -> Self {
        self.pause = Some(amount.into());
        self
    }

    /// Sets the amount from which calls are rejected.
    pub fn hard_stop(mut self, amount: impl Into<f64>) -> Self {
        self.hard_stop = Some(amount.into());
        self
    }

    /// Returns the mistakes in the declaration of the quota.
    pub(super) fn problems(&self) -> Vec<String> {
        let name = self.metric.as_str();
        let steps = [("warn", self.warn), ("pause", self.pause), ("hard_stop", self.hard_stop)];
        let given: Vec<_> =
            steps.into_iter().filter_map(|(step, amount)| Some((step, amount?))).collect();
        let mut problems = Vec::new();
        if given.is_empty() {
            problems.push(format!(
                "quota `{name}` has no threshold: set `warn`, `pause` or `hard_stop`"
            ));
        }
        for (step, amount) in &given {
            if !amount.is_finite() || *amount <= 0.0 {
                problems.push(format!("quota `{name}`: `{step}` is not a number above 0"));
            } else if self.metric.unit() != Unit::Cost && amount.fract() != 0.0 {
                problems.push(format!("quota `{name}`: `{step}` is not a whole number"));
            } else if self.metric.unit().count(*amount) == u64::MAX {
                problems.push(format!("quota `{name}`: `{step}` is too large to be counted"));
            }
        }
        if !given.is_sorted_by(|(_, one), (_, next)| one <= next) {
            problems.push(format!(
                "quota `{name}` is out of order: `warn` must not exceed `pause`, and `pause` must not \
                 exceed `hard_stop`"
            ));
        }
        problems
    }
}
