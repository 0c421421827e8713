//! Decides which calls the limits and quotas admit. The decisions need no access to the store or to the clock.

use std::collections::HashMap;

use mcp_aql_protocol::SemanticCategory;

use super::RateLimits;
use super::cost::CostModel;
use super::counter::Micros;
use super::declaration::{ApiLimit, Metric, Quota, Span, Unit};
use super::ledger::Ledger;
use crate::operation::Usage;

/// Id of the counter of the month's calls. Tiered prices depend on it.
const CALLS_OF_MONTH: &str = "calls_per_month";

/// The declared limits and quotas, prepared for decisions. The methods are pure functions of a ledger and a time, so
/// that they can be tested without a store.
#[derive(Debug)]
pub(crate) struct LimitRules {
    pub(super) limits: Vec<LimitRule>,
    pub(super) quotas: Vec<QuotaRule>,
    costs: Vec<CostModel>,
    pub(super) currency: String,
    /// Indexes of the limits that count the calls of each operation.
    covering: HashMap<String, Vec<usize>>,
    has_tiers: bool,
}

#[derive(Debug)]
pub(crate) struct LimitRule {
    pub(super) id: String,
    pub(super) limit: ApiLimit,
}

/// The thresholds of a quota, in counted units.
#[derive(Debug)]
pub(crate) struct QuotaRule {
    pub(super) metric: Metric,
    pub(super) warn: Option<u64>,
    pub(super) pause: Option<u64>,
    pub(super) hard_stop: Option<u64>,
}

/// State of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuotaState {
    Ok,
    Warn,
    Paused,
    Exhausted,
}

impl QuotaState {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Paused => "paused",
            Self::Exhausted => "exhausted",
        }
    }
}

/// The decision on a call.
#[derive(Debug, PartialEq)]
pub(crate) enum LimitDecision {
    /// The call may run. Warn about these quotas.
    Admit(Vec<QuotaUsage>),
    /// The call may run because of its token, although the quota in the second field is paused.
    Continue(Vec<QuotaUsage>, QuotaUsage),
    /// A limit is reached.
    Exceeded(Exceeded),
    /// A quota is paused.
    Paused(QuotaUsage),
    /// A quota is exhausted until this time.
    Exhausted(QuotaUsage, Micros),
    /// The counter with this id is unreadable.
    Unreadable(String),
}

/// A counted call. It contains what is needed to subtract the call again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedCall {
    pub(super) operation: &'static str,
    /// Time of the call, in microseconds since 1970.
    pub(super) at: Micros,
    /// Price of the call, in billionths of the currency.
    pub(super) price: u64,
}

/// A reached limit.
#[derive(Debug, PartialEq)]
pub(crate) struct Exceeded {
    /// Index of the limit. `None` for a limit known only to the wrapped API.
    pub(super) limit: Option<usize>,
    pub(super) resets_at: Micros,
}

/// The index of a quota, and its used amount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QuotaUsage {
    pub(super) quota: usize,
    pub(super) current: u64,
}

impl QuotaRule {
    fn new(quota: &Quota) -> Self {
        let unit = quota.metric.unit();
        let count = |amount: Option<f64>| amount.map(|amount| unit.count(amount));
        let whole = count(quota.hard_stop).or(count(quota.pause));
        let usual = whole.map(|whole| {
            let four_fifths = whole.saturating_sub(whole / 5);
            four_fifths.min(count(quota.pause).unwrap_or(u64::MAX))
        });
        Self {
            metric: quota.metric,
            warn: count(quota.warn).or(usual),
            pause: count(quota.pause),
            hard_stop: count(quota.hard_stop),
        }
    }

    /// Returns the highest threshold.
    pub(super) fn whole(&self) -> Option<u64> {
        self.hard_stop.or(self.pause).or(self.warn)
    }

    /// Returns the state of the quota at this amount.
    pub(super) fn status(&self, current: u64) -> QuotaState {
        let reached = |step: Option<u64>| step.is_some_and(|step| current >= step);
        match () {
            () if reached(self.hard_stop) => QuotaState::Exhausted,
            () if reached(self.pause) => QuotaState::Paused,
            () if reached(self.warn) => QuotaState::Warn,
            () => QuotaState::Ok,
        }
    }

    /// Returns `true` if a call that uses the amount `more` exceeds the threshold.
    fn passes(step: Option<u64>, current: u64, more: u64) -> bool {
        step.is_some_and(|step| current >= step || current.saturating_add(more) > step)
    }
}

impl LimitRules {
    /// Prepares the limits for operations, given by name, endpoint family and category.
    pub(crate) fn new<'a>(
        declared: &RateLimits,
        operations: impl IntoIterator<Item = (&'a str, &'a str, SemanticCategory)>,
    ) -> Self {
        let covering = operations.into_iter().map(|(name, endpoint, category)| {
            let places = declared.limits.iter().enumerate();
            let covering = places.filter(|(_, limit)| limit.scope.covers(endpoint, category));
            (name.to_owned(), covering.map(|(place, _)| place).collect())
        });
        Self {
            covering: covering.collect(),
            limits: declared
                .limits
                .iter()
                .map(|limit| LimitRule { id: limit.id(), limit: limit.clone() })
                .collect(),
            quotas: declared.quotas.iter().map(QuotaRule::new).collect(),
            has_tiers: declared.costs.iter().any(|cost| matches!(cost, CostModel::Tiered(_))),
            costs: declared.costs.clone(),
            currency: declared.currency_or_default().to_owned(),
        }
    }

    /// Returns the limits that count an operation's calls, with their indexes.
    pub(super) fn covering(&self, operation: &str) -> impl Iterator<Item = (usize, &LimitRule)> {
        let places = self.covering.get(operation).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|place| Some((*place, self.limits.get(*place)?)))
    }

    /// Returns the id of the upstream limits of an operation without declared limits.
    pub(super) fn own_id(operation: &str) -> String {
        format!("operation:{operation}")
    }

    /// Returns the id of a reached limit for the audit log.
    pub(super) fn id_of(&self, exceeded: &Exceeded, operation: &str) -> String {
        let rule = exceeded.limit.and_then(|place| self.limits.get(place));
        rule.map_or_else(|| Self::own_id(operation), |rule| rule.id.clone())
    }

    /// Returns the name of a quota's metric.
    pub(super) fn metric(&self, spent: QuotaUsage) -> &'static str {
        self.quotas.get(spent.quota).map_or("", |quota| quota.metric.as_str())
    }

    /// Returns the cost of one more call. Only costs known in advance are included.
    fn price(&self, ledger: &Ledger, now: Micros) -> u64 {
        if self.costs.is_empty() {
            return 0;
        }
        let calls = ledger.used(CALLS_OF_MONTH, Span::Month, now);
        self.costs.iter().map(|cost| cost.before(calls)).fold(0, u64::saturating_add)
    }

    /// Returns the known usage of one more call, in the unit of a metric.
    fn needs(metric: Metric, price: u64) -> u64 {
        match metric.unit() {
            Unit::Requests => 1,
            Unit::Tokens => 0,
            Unit::Cost => price,
        }
    }

    /// Decides whether a call of the operation may run. `continued` is `true` for a call with a token.
    pub(crate) fn decide(
        &self,
        ledger: &Ledger,
        operation: &str,
        now: Micros,
        continued: bool,
    ) -> LimitDecision {
        if let Some(id) = self.unreadable(ledger, operation) {
            return LimitDecision::Unreadable(id);
        }
        if let Some(exceeded) = self.exceeded(ledger, operation, now) {
            return LimitDecision::Exceeded(exceeded);
        }
        let price = self.price(ledger, now);
        let (mut paused, mut warned) = (None, Vec::new());
        for (place, quota) in self.quotas.iter().enumerate() {
            let metric = quota.metric;
            let current = ledger.used(metric.as_str(), metric.span(), now);
            let more = Self::needs(metric, price);
            let spent = QuotaUsage { quota: place, current };
            if QuotaRule::passes(quota.hard_stop, current, more) {
                return LimitDecision::Exhausted(spent, self.refills(ledger, quota, more, now));
            }
            if QuotaRule::passes(quota.pause, current, more) {
                paused = paused.or(Some(spent));
            }
            let after = current.saturating_add(more);
            if quota.warn.is_some_and(|warn| after >= warn) {
                warned.push(QuotaUsage { quota: place, current: after });
            }
        }
        match paused {
            Some(spent) if continued => LimitDecision::Continue(warned, spent),
            Some(spent) => LimitDecision::Paused(spent),
            None => LimitDecision::Admit(warned),
        }
    }

    /// Returns the id of a counter that applies to the call and cannot be read. Such a call can neither be admitted nor
    /// rejected.
    fn unreadable(&self, ledger: &Ledger, operation: &str) -> Option<String> {
        let limits = self.covering(operation).map(|(_, rule)| rule.id.as_str());
        let quotas = self.quotas.iter().map(|quota| quota.metric.as_str());
        let tiers = self.has_tiers.then_some(CALLS_OF_MONTH);
        let found = limits.chain(quotas).chain(tiers).find(|id| ledger.is_unreadable(id));
        found.map(str::to_owned).or_else(|| {
            let own = Self::own_id(operation);
            (!ledger.is_lost() && ledger.is_unreadable(&own)).then_some(own)
        })
    }

    /// Returns the limit that blocks a call for the longest time.
    pub(super) fn exceeded(
        &self,
        ledger: &Ledger,
        operation: &str,
        now: Micros,
    ) -> Option<Exceeded> {
        let own = ledger.blocked_until(&Self::own_id(operation), now);
        let own = own.map(|resets_at| Exceeded { limit: None, resets_at });
        let declared = self.covering(operation).filter_map(|(place, rule)| {
            let resets_at =
                [ledger.blocked_until(&rule.id, now), self.full_until(ledger, rule, now)];
            let resets_at = resets_at.into_iter().flatten().max()?;
            Some(Exceeded { limit: Some(place), resets_at })
        });
        own.into_iter().chain(declared).max_by_key(|exceeded| exceeded.resets_at)
    }

    fn full_until(&self, ledger: &Ledger, rule: &LimitRule, now: Micros) -> Option<Micros> {
        let span = Span::Sliding(rule.limit.window);
        let maximum = u64::from(rule.limit.limit);
        let counter = ledger.counter(&rule.id)?;
        (counter.used(span, now) >= maximum)
            .then(|| counter.time_at_most(maximum.saturating_sub(1), span, now))
    }

    /// Returns when an exhausted quota will have enough capacity for a call that uses the amount `more`.
    fn refills(&self, ledger: &Ledger, quota: &QuotaRule, more: u64, now: Micros) -> Micros {
        let maximum = quota.hard_stop.unwrap_or(u64::MAX).saturating_sub(more.max(1));
        let metric = quota.metric;
        let counter = ledger.counter(metric.as_str());
        counter.map_or(now, |counter| counter.time_at_most(maximum, metric.span(), now))
    }

    /// Returns `true` if any counter counts calls of the operation.
    pub(crate) fn counts(&self, operation: &str) -> bool {
        self.has_tiers || !self.quotas.is_empty() || self.covering(operation).next().is_some()
    }

    /// Counts an admitted call.
    pub(crate) fn count(
        &self,
        ledger: &mut Ledger,
        operation: &'static str,
        now: Micros,
    ) -> CountedCall {
        let price = self.price(ledger, now);
        for (_, rule) in self.covering(operation) {
            ledger.add(&rule.id, Span::Sliding(rule.limit.window), now, 1);
            ledger.subtract_remaining_call(&rule.id);
        }
        for quota in &self.quotas {
            match Self::needs(quota.metric, price) {
                0 => {}
                more => ledger.add(quota.metric.as_str(), quota.metric.span(), now, more),
            }
        }
        if self.has_tiers {
            ledger.add(CALLS_OF_MONTH, Span::Month, now, 1);
        }
        CountedCall { operation, at: now, price }
    }

    /// Subtracts a call that did not run. Returns `true` if anything was subtracted. The remaining calls of a wrapped
    /// API are not changed, because the API may have reported a new number since.
    pub(crate) fn subtract_call(&self, ledger: &mut Ledger, counted: CountedCall) -> bool {
        let CountedCall { operation, at, price } = counted;
        let mut given = false;
        for (_, rule) in self.covering(operation) {
            given |= ledger.subtract(&rule.id, Span::Sliding(rule.limit.window), at, 1);
        }
        for quota in &self.quotas {
            match Self::needs(quota.metric, price) {
                0 => {}
                more => {
                    let metric = quota.metric;
                    given |= ledger.subtract(metric.as_str(), metric.span(), at, more);
                }
            }
        }
        if self.has_tiers {
            given |= ledger.subtract(CALLS_OF_MONTH, Span::Month, at, 1);
        }
        given
    }

    /// Counts the usage reported by a call.
    pub(crate) fn settle(&self, ledger: &mut Ledger, usage: Usage, now: Micros) {
        let due = self.costs.iter().map(|cost| cost.after(usage.tokens, usage.bytes));
        let cost = due.fold(Unit::Cost.count(usage.cost), u64::saturating_add);
        for quota in &self.quotas {
            let amount = match quota.metric.unit() {
                Unit::Requests => 0,
                Unit::Tokens => usage.tokens,
                Unit::Cost => cost,
            };
            if amount > 0 {
                ledger.add(quota.metric.as_str(), quota.metric.span(), now, amount);
            }
        }
    }
}
