//! Builds the errors and warnings of limits and quotas.

use chrono::{DateTime, Utc};
use mcp_aql_protocol::ErrorCode;
use serde_json::Value;

use super::counter::{Micros, instant};
use super::rules::{Exceeded, LimitRules, QuotaRule, QuotaUsage};
use crate::error::OperationError;
use crate::error::warning::{Severity, Warning};
use crate::util::clock;

/// Returns how long to wait, in whole seconds, at least 1.
pub(super) fn seconds(until: Micros, now: Micros) -> u64 {
    let wait = u64::try_from(until.saturating_sub(now)).unwrap_or_default();
    wait.div_ceil(1_000_000).max(1)
}

/// Builds `RATE_LIMIT_EXCEEDED` (REQ-RATE-02, REQ-RATE-06), with these details:
///
/// ```json
/// {
///   "limit": 100, "remaining": 0, "window": "minute", "resets_at": "2031-05-06T07:01:00.000Z",
///   "retry_after_seconds": 12, "scope": "global"
/// }
/// ```
pub(super) fn exceeded(rules: &LimitRules, exceeded: &Exceeded, now: Micros) -> OperationError {
    let wait = seconds(exceeded.resets_at, now);
    let limit = exceeded.limit.and_then(|place| rules.limits.get(place)).map(|rule| &rule.limit);
    let error = OperationError::new(
        ErrorCode::RateLimitExceeded,
        format!("API rate limit exceeded. Try again in '{wait}' seconds"),
    )
    // A limit known only to the wrapped API has no declared number.
    .with_detail("limit", limit.map_or(Value::Null, |limit| limit.limit.into()))
    .with_detail("remaining", 0)
    .with_detail("window", limit.map_or(Value::Null, |limit| limit.window.as_str().into()))
    .with_detail("resets_at", clock::text(instant(exceeded.resets_at)))
    .with_detail("retry_after_seconds", wait);
    match limit {
        Some(limit) => error.with_detail("scope", limit.scope.to_string()),
        None => error,
    }
}

/// Builds `RATE_LIMIT_QUOTA_EXHAUSTED` (REQ-RATE-04, REQ-RATE-06).
pub(super) fn exhausted(
    rules: &LimitRules,
    spent: QuotaUsage,
    resets_at: Micros,
    now: Micros,
) -> OperationError {
    let Some(quota) = rules.quotas.get(spent.quota) else {
        return OperationError::internal("unknown quota");
    };
    let wait = seconds(resets_at, now);
    OperationError::new(
        ErrorCode::RateLimitQuotaExhausted,
        format!("Quota exhausted: '{}'. Try again in '{wait}' seconds", quota.metric.as_str()),
    )
    .with_detail("metric", quota.metric.as_str())
    .with_detail("current", quota.show(spent.current))
    .with_detail("hard_stop_threshold", quota.hard_stop.map(|amount| quota.show(amount)))
    .with_detail("resets_at", clock::text(instant(resets_at)))
    .with_detail("retry_after_seconds", wait)
}

/// Builds `RATE_LIMIT_QUOTA_PAUSE` (REQ-RATE-06, REQ-RATE-07). The error contains the token that confirms the call.
pub(super) fn paused(
    rules: &LimitRules,
    spent: QuotaUsage,
    (token, expires_at): (String, DateTime<Utc>),
) -> OperationError {
    let Some(quota) = rules.quotas.get(spent.quota) else {
        return OperationError::internal("unknown quota");
    };
    let error = OperationError::new(
        ErrorCode::RateLimitQuotaPause,
        format!(
            "Quota pause threshold reached: '{}'. Once the user agrees, send the call again \
             with 'confirmation_token' as '_quota_continue' in its params",
            quota.metric.as_str()
        ),
    )
    .with_detail("metric", quota.metric.as_str())
    .with_detail("current", quota.show(spent.current))
    .with_detail("pause_threshold", quota.pause.map(|amount| quota.show(amount)))
    .with_detail("confirmation_token", token)
    .with_detail("expires_at", clock::text(expires_at));
    match quota.hard_stop {
        Some(amount) => error.with_detail("hard_stop_threshold", quota.show(amount)),
        None => error,
    }
}

/// Builds `INTERNAL_ERROR` for an unreadable counter. The log, not the reply, explains how to repair it.
pub(super) fn unreadable(adapter: &str, id: &str) -> OperationError {
    OperationError::internal(format!(
        "the counter `{id}` is unreadable, so calls that it counts are rejected: repair the record \
         `{adapter}` in the store's collection `limits`, or delete the record to count from \
         0 again"
    ))
}

/// Builds `RATE_LIMIT_QUOTA_WARNING` (REQ-RATE-06, REQ-WRN-06). Returns `None` for a quota without warnings.
pub(super) fn warning(rules: &LimitRules, spent: QuotaUsage) -> Option<Warning> {
    let quota = rules.quotas.get(spent.quota)?;
    let (warn, whole) = (quota.warn?, quota.whole()?);
    // The severity is high above nine tenths of the quota.
    let near = u128::from(spent.current) * 10 > u128::from(whole) * 9;
    let warning = Warning::new(
        "RATE_LIMIT_QUOTA_WARNING",
        format!("Approaching quota limit: '{}'", quota.metric.as_str()),
    )
    .severity(if near { Severity::High } else { Severity::Medium })
    .detail("metric", quota.metric.as_str())
    .detail("current", quota.show(spent.current))
    .detail("warn_threshold", quota.show(warn));
    let steps = [("pause_threshold", quota.pause), ("hard_stop_threshold", quota.hard_stop)];
    Some(steps.into_iter().fold(warning, |warning, (name, step)| match step {
        Some(amount) => warning.detail(name, quota.show(amount)),
        None => warning,
    }))
}

impl QuotaRule {
    /// Converts an amount of this quota for callers.
    pub(super) fn show(&self, count: u64) -> Value {
        self.metric.unit().show(count)
    }
}
