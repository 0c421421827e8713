//! Answers the introspection query `quota_status`.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::counter::{Micros, instant};
use super::declaration::{Span, Unit};
use super::ledger::Ledger;
use super::limit_error;
use super::limiter::Limiter;
use super::rules::{LimitRule, LimitRules, QuotaRule, QuotaState};
use crate::error::OperationError;
use crate::operation::further_query::{FurtherQuery, IsShown};
use crate::util::BoxFuture;
use crate::util::clock;

/// Answers `introspect` with `query` = `quota_status`: the state of all limits and quotas (REQ-RATE-08).
pub(crate) struct QuotaStatus(pub(crate) Arc<Limiter>);

impl FurtherQuery for QuotaStatus {
    fn query(&self) -> &'static str {
        "quota_status"
    }

    fn answer<'a>(
        &'a self,
        _name: Option<&'a str>,
        _is_shown: IsShown<'a>,
    ) -> BoxFuture<'a, Result<Value, OperationError>> {
        let Self(limiter) = self;
        Box::pin(async move {
            let status = limiter.read(|ledger, now| {
                let adapter = limiter.adapter();
                (!ledger.is_lost()).then(|| status(adapter, &limiter.rules, ledger, now))
            });
            status.await?.ok_or_else(|| limit_error::unreadable(limiter.adapter(), "limits"))
        })
    }
}

/// Returns the state of all limits and quotas:
///
/// ```json
/// {
///   "adapter": "hotel",
///   "api_limits": { "endpoint:create": { "limit": 20, "remaining": 17, "window": "hour", "resets_at": "…" } },
///   "quotas": [
///     { "metric": "requests_per_hour", "current": 3, "warn": 800, "pause": 950, "hard_stop": 1000, "status": "ok" }
///   ],
///   "next_reset": "…"
/// }
/// ```
fn status(adapter: &str, rules: &LimitRules, ledger: &Ledger, now: Micros) -> Value {
    let mut resets = Vec::new();
    let mut limits = Map::new();
    for rule in &rules.limits {
        let scope = rule.limit.scope.to_string();
        let same = rules.limits.iter().filter(|other| other.limit.scope == rule.limit.scope);
        // A scope with several windows has an entry for each of them.
        let key = if same.count() > 1 { rule.id.clone() } else { scope };
        limits.insert(key, limit(rule, ledger, now, &mut resets));
    }
    let quotas = rules.quotas.iter().map(|rule| {
        let counter = ledger.counter(rule.metric.as_str());
        resets.extend(counter.and_then(|counter| counter.next_decrease(rule.metric.span(), now)));
        quota(rule, &rules.currency, ledger, now)
    });
    let quotas: Vec<_> = quotas.collect();
    let next = resets.into_iter().min().map(text);
    json!({ "adapter": adapter, "api_limits": limits, "quotas": quotas, "next_reset": next })
}

fn limit(rule: &LimitRule, ledger: &Ledger, now: Micros, resets: &mut Vec<Micros>) -> Value {
    let span = Span::Sliding(rule.limit.window);
    let counter = ledger.counter(&rule.id);
    let used = counter.map_or(0, |counter| counter.used(span, now));
    let blocked = ledger.blocked_until(&rule.id, now);
    let mut remaining = u64::from(rule.limit.limit).saturating_sub(used);
    remaining = remaining.min(ledger.remaining(&rule.id, now).unwrap_or(u64::MAX));
    // Calls are rejected while the state of the limit is unknown.
    if blocked.is_some() || ledger.is_unreadable(&rule.id) {
        remaining = 0;
    }
    let falls = counter.and_then(|counter| counter.next_decrease(span, now));
    let resets_at = blocked.max(falls);
    resets.extend(resets_at);
    json!({
        "limit": rule.limit.limit,
        "remaining": remaining,
        "window": rule.limit.window.as_str(),
        "resets_at": text(resets_at.unwrap_or(now)),
    })
}

fn quota(rule: &QuotaRule, currency: &str, ledger: &Ledger, now: Micros) -> Value {
    let metric = rule.metric;
    let current = ledger.used(metric.as_str(), metric.span(), now);
    let mut entry = Map::new();
    entry.insert("metric".to_owned(), metric.as_str().into());
    entry.insert("current".to_owned(), rule.show(current));
    for (name, step) in [("warn", rule.warn), ("pause", rule.pause), ("hard_stop", rule.hard_stop)]
    {
        entry.insert(name.to_owned(), step.map_or(Value::Null, |amount| rule.show(amount)));
    }
    let status = match ledger.is_unreadable(metric.as_str()) {
        true => QuotaState::Exhausted,
        false => rule.status(current),
    };
    entry.insert("status".to_owned(), status.as_str().into());
    if metric.unit() == Unit::Cost {
        entry.insert("currency".to_owned(), currency.into());
    }
    entry.into()
}

fn text(at: Micros) -> String {
    clock::text(instant(at))
}
