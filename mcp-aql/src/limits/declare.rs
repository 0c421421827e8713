use std::fmt;

use mcp_aql_protocol::SemanticCategory;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long the stretch of time is that a limit counts in. It slides: it ends now, whenever that is.
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
    /// The word on the wire: `second`, `minute`, `hour` or `day`.
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

/// Which calls a limit counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    Global,
    Endpoint(String),
    Category(SemanticCategory),
}

impl Scope {
    /// Whether a call of such an operation counts.
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

/// So many calls in a window, and no more in any window of that length.
///
/// ```
/// use mcp_aql::SemanticCategory;
/// use mcp_aql::limits::{ApiLimit, Window};
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
    /// Counts every call but those of `introspect`.
    pub fn global(limit: u32) -> Self {
        Self::of(Scope::Global, limit)
    }

    /// Counts the calls of one endpoint family: `create`.
    pub fn endpoint(name: impl Into<String>, limit: u32) -> Self {
        Self::of(Scope::Endpoint(name.into()), limit)
    }

    /// Counts the calls of one category.
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

    /// In how long a time. Default: a minute.
    pub fn per(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// How many of them may come at once; the others are spread evenly over the window. Each process
    /// paces its own calls. Default: all.
    pub fn burst(mut self, calls: u32) -> Self {
        self.burst = Some(calls);
        self
    }

    /// The header in which the wrapped API tells how many calls are left.
    pub fn remaining_header(mut self, name: impl Into<String>) -> Self {
        self.remaining_header = Some(name.into());
        self
    }

    /// The header in which the wrapped API tells when there are more: seconds from now, seconds since
    /// 1970, or a date.
    pub fn reset_header(mut self, name: impl Into<String>) -> Self {
        self.reset_header = Some(name.into());
        self
    }

    /// What this limit and no other one counts.
    pub(super) fn id(&self) -> String {
        format!("{}:{}", self.scope, self.window.as_str())
    }
}

/// What a quota counts, and in which time.
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
    /// Money in an hour.
    CostPerHour,
    /// Money in 24 hours.
    CostPerDay,
    /// Money in a calendar month, UTC.
    CostPerMonth,
}

/// In which time something is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// One that ends now.
    Sliding(Window),
    /// The calendar month, UTC.
    Month,
}

/// What something is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Requests,
    Tokens,
    /// Millionths of the currency's unit, so that sums are exact.
    Cost,
}

impl Metric {
    /// All nine.
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

    /// The word on the wire, such as `requests_per_hour`.
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
    /// As it is counted. What is no amount counts as nothing; the builder complains of it.
    pub(super) fn count(self, amount: f64) -> u64 {
        match self {
            Self::Requests | Self::Tokens => amount.round() as u64,
            Self::Cost => millionths(amount),
        }
    }

    /// As it is shown.
    pub(super) fn show(self, count: u64) -> Value {
        match self {
            Self::Requests | Self::Tokens => count.into(),
            Self::Cost => (count as f64 / 1e6).into(),
        }
    }
}

/// Money as it is counted: a conversion of floats stops at the ends of the range.
pub(crate) fn millionths(amount: f64) -> u64 {
    (amount * 1e6).round() as u64
}

/// What may be used of something, in up to three steps: from `warn` on calls succeed with a warning,
/// from `pause` on each of them wants a `quota_continue_…` token, and `hard_stop` is the end.
///
/// ```
/// use mcp_aql::limits::{Metric, Quota};
///
/// Quota::new(Metric::RequestsPerHour).warn(800).pause(950).hard_stop(1000);
/// Quota::new(Metric::CostPerMonth).hard_stop(25.5);
/// ```
///
/// Without `warn`, calls are warned from four fifths of `hard_stop` on, or of `pause` where there is no
/// `hard_stop`.
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
    /// Of this metric, still without a step.
    pub fn new(metric: Metric) -> Self {
        Self { metric, warn: None, pause: None, hard_stop: None }
    }

    /// From which amount on calls are warned.
    pub fn warn(mut self, amount: impl Into<f64>) -> Self {
        self.warn = Some(amount.into());
        self
    }

    /// From which amount on a call has to be confirmed.
    pub fn pause(mut self, amount: impl Into<f64>) -> Self {
        self.pause = Some(amount.into());
        self
    }

    /// The amount that calls stop at.
    pub fn hard_stop(mut self, amount: impl Into<f64>) -> Self {
        self.hard_stop = Some(amount.into());
        self
    }

    /// What is wrong with it.
    pub(super) fn problems(&self) -> Vec<String> {
        let name = self.metric.as_str();
        let steps = [("warn", self.warn), ("pause", self.pause), ("hard_stop", self.hard_stop)];
        let given: Vec<_> =
            steps.into_iter().filter_map(|(step, amount)| Some((step, amount?))).collect();
        let mut problems = Vec::new();
        if given.is_empty() {
            problems.push(format!(
                "quota `{name}` has no step: give it `warn`, `pause` or `hard_stop`"
            ));
        }
        for (step, amount) in &given {
            if !amount.is_finite() || *amount <= 0.0 {
                problems.push(format!("quota `{name}`: `{step}` is no amount above 0"));
            } else if self.metric.unit() != Unit::Cost && amount.fract() != 0.0 {
                problems.push(format!("quota `{name}`: `{step}` is no whole number"));
            }
        }
        if !given.is_sorted_by(|(_, one), (_, next)| one <= next) {
            problems.push(format!(
                "quota `{name}` is out of order: `warn` comes before `pause`, and `pause` before \
                 `hard_stop`"
            ));
        }
        problems
    }
}
