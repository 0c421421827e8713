//! Counts calls, and rejects those that exceed a limit or a quota.

use std::sync::Arc;

use mcp_aql_protocol::SemanticCategory;

use super::RateLimits;
use super::burst_pacer::BurstPacer;
use super::counter::Micros;
use super::ledger::Ledger;
use super::ledger_store::{LedgerStore, LedgerUpdate};
use super::limit_error;
use super::rules::{Exceeded, LimitDecision, QuotaUsage, Rules};
use super::upstream::{header, remaining, reset, retry_after};
use crate::audit::AuditEntry;
use crate::call_limits::{CallLimits, CountedCall, LimitRequest, QuotaTokens};
use crate::error::OperationError;
use crate::future::BoxFuture;
use crate::operation::{UpstreamMemory, Usage};
use crate::services::Services;
use crate::session::Session;

/// The assumed time until the reset of an API's limit, if neither the API nor a declaration states it.
const DEFAULT_BLOCK_MICROS: Micros = 60 * 1_000_000;

/// Counts the calls of one adapter, and rejects those that exceed a limit.
pub(crate) struct Limiter {
    services: Arc<Services>,
    pub(super) rules: Arc<Rules>,
    /// The pacing of each limit, by index.
    pacers: Arc<[Option<BurstPacer>]>,
    ledger: LedgerStore,
    /// The ids of limits whose counters should outlive the process.
    lasting: Vec<String>,
}

impl Limiter {
    pub(crate) fn new<'a>(
        declared: &RateLimits,
        operations: impl IntoIterator<Item = (&'a str, &'a str, SemanticCategory)>,
        services: Arc<Services>,
    ) -> Self {
        Self {
            rules: Arc::new(Rules::new(declared, operations)),
            pacers: declared
                .limits
                .iter()
                .map(|limit| BurstPacer::of(limit, &services.time))
                .collect(),
            ledger: LedgerStore::new(Arc::clone(&services)),
            services,
            lasting: declared.lasting(),
        }
    }

    pub(super) fn adapter(&self) -> &str {
        &self.services.audit.adapter
    }

    async fn check_call(
        &self,
        call: LimitRequest<'_>,
        tokens: &dyn QuotaTokens,
    ) -> Result<(), OperationError> {
        let name = call.operation.spec.name;
        let continued = call.token.is_some();
        let decide = |ledger: &Ledger, now| (self.rules.decide(ledger, name, now, continued), now);
        let (decision, now) = self.ledger.read(decide).await?;
        match decision {
            LimitDecision::Admit(_) | LimitDecision::Continue(..) => Ok(()),
            refused => Err(self.rejection(call, refused, now, tokens).await),
        }
    }

    async fn admit_call(
        &self,
        call: LimitRequest<'_>,
        tokens: &dyn QuotaTokens,
    ) -> Result<CountedCall, OperationError> {
        let (decision, now, counted) = self.count_call(call).await?;
        let (spent, paused) = match decision {
            LimitDecision::Admit(spent) => (spent, None),
            LimitDecision::Continue(spent, paused) => (spent, Some(paused)),
            refused => return Err(self.rejection(call, refused, now, tokens).await),
        };
        let Some(counted) = counted else {
            return Err(OperationError::internal("an admitted call was not counted"));
        };
        if let Err(error) = tokens.consume(call.token.filter(|_| paused.is_some())).await {
            self.release_call(counted).await;
            return Err(error);
        }
        if let Some(paused) = paused {
            self.audit(call, "QUOTA_CONTINUED", "confirmed", self.metric(paused)).await;
        }
        self.warn(call, &spent).await;
        Ok(counted)
    }

    /// Decides on a call and counts it if it is admitted. Returns the decision, its time and the counted call.
    async fn count_call(
        &self,
        call: LimitRequest<'_>,
    ) -> Result<(LimitDecision, Micros, Option<CountedCall>), OperationError> {
        let name = call.operation.spec.name;
        let continued = call.token.is_some();
        let (rules, pacers) = (Arc::clone(&self.rules), Arc::clone(&self.pacers));
        let mut paced = false;
        let counted = self.ledger.change(move |ledger, now| {
            let decision = rules.decide(ledger, name, now, continued);
            if !matches!(decision, LimitDecision::Admit(_) | LimitDecision::Continue(..)) {
                return LedgerUpdate::Keep((decision, now, None));
            }
            if !paced && let Some(exceeded) = check_pacers(&rules, &pacers, name, now) {
                return LedgerUpdate::Keep((LimitDecision::Exceeded(exceeded), now, None));
            }
            paced = true;
            let counted = rules.count(ledger, name, now);
            let outcome = (decision, now, Some(counted));
            if rules.counts(name) {
                LedgerUpdate::Write(outcome)
            } else {
                LedgerUpdate::Keep(outcome)
            }
        });
        counted.await
    }

    async fn release_call(&self, counted: CountedCall) {
        let rules = Arc::clone(&self.rules);
        let given = self.ledger.change_even_if_cancelled(move |ledger, _| {
            match rules.subtract_call(ledger, counted) {
                true => LedgerUpdate::Write(()),
                false => LedgerUpdate::Keep(()),
            }
        });
        if let Err(error) = given.await {
            let cause = error.cause().map(ToString::to_string);
            tracing::error!(cause, ?counted, "cannot subtract a counted call that did not run");
        }
    }

    async fn count_usage(&self, usage: Usage) {
        let rules = Arc::clone(&self.rules);
        let counted = self.ledger.change_even_if_cancelled(move |ledger, now| {
            if ledger.is_lost() {
                return LedgerUpdate::Keep(false);
            }
            rules.settle(ledger, usage, now);
            LedgerUpdate::Write(true)
        });
        let cause = match counted.await {
            Ok(true) => return,
            Ok(false) => Some("the record of the counters is unreadable".to_owned()),
            Err(error) => error.cause().map(ToString::to_string),
        };
        tracing::error!(cause, ?usage, "cannot count the usage of an operation");
    }

    /// Reads the ledger.
    pub(super) async fn read<T>(
        &self,
        read: impl FnOnce(&Ledger, Micros) -> T,
    ) -> Result<T, OperationError> {
        self.ledger.read(read).await
    }

    async fn rejection(
        &self,
        call: LimitRequest<'_>,
        decision: LimitDecision,
        now: Micros,
        tokens: &dyn QuotaTokens,
    ) -> OperationError {
        let (event, about, error) = match decision {
            LimitDecision::Exceeded(exceeded) => {
                let error = limit_error::exceeded(&self.rules, &exceeded, now);
                ("LIMIT_EXCEEDED", self.rules.id_of(&exceeded, call.operation.spec.name), error)
            }
            LimitDecision::Exhausted(spent, resets_at) => {
                let error = limit_error::exhausted(&self.rules, spent, resets_at, now);
                ("QUOTA_EXHAUSTED", self.metric(spent).to_owned(), error)
            }
            LimitDecision::Paused(spent) => {
                let issued = match tokens.issue().await {
                    Ok(issued) => issued,
                    Err(error) => return error,
                };
                let error = limit_error::paused(&self.rules, spent, issued);
                ("QUOTA_PAUSED", self.metric(spent).to_owned(), error)
            }
            LimitDecision::Unreadable(id) => {
                let error = limit_error::unreadable(self.adapter(), &id);
                ("LIMIT_UNREADABLE", id, error)
            }
            LimitDecision::Admit(_) | LimitDecision::Continue(..) => {
                return OperationError::internal("no limit rejects this call");
            }
        };
        self.audit(call, event, "denied", &about).await;
        error
    }

    /// Adds warnings for quotas that are almost used up (REQ-WRN-06).
    async fn warn(&self, call: LimitRequest<'_>, spent: &[QuotaUsage]) {
        for one in spent {
            if let Some(warning) = limit_error::warning(&self.rules, *one) {
                call.context.warn(warning);
                self.audit(call, "QUOTA_WARNING", "allowed", self.metric(*one)).await;
            }
        }
    }

    fn metric(&self, spent: QuotaUsage) -> &'static str {
        self.rules.quotas.get(spent.quota).map_or("", |quota| quota.metric.as_str())
    }

    async fn audit(&self, call: LimitRequest<'_>, event: &str, outcome: &str, about: &str) {
        let entry = AuditEntry {
            event,
            operation: Some(call.operation.spec.name),
            endpoint: Some(&call.operation.endpoint),
            outcome,
            reason: Some(about),
            session: call.context.session().map(Session::id),
            ..AuditEntry::default()
        };
        self.services.audit.record(&entry).await;
    }
}

impl CallLimits for Limiter {
    fn may_pause(&self) -> bool {
        self.rules.quotas.iter().any(|quota| quota.pause.is_some())
    }

    fn check<'a>(
        &'a self,
        call: LimitRequest<'a>,
        tokens: &'a dyn QuotaTokens,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(self.check_call(call, tokens))
    }

    fn admit<'a>(
        &'a self,
        call: LimitRequest<'a>,
        tokens: &'a dyn QuotaTokens,
    ) -> BoxFuture<'a, Result<CountedCall, OperationError>> {
        Box::pin(self.admit_call(call, tokens))
    }

    fn release(&self, counted: CountedCall) -> BoxFuture<'_, ()> {
        Box::pin(self.release_call(counted))
    }

    fn settle(&self, usage: Usage) -> BoxFuture<'_, ()> {
        Box::pin(self.count_usage(usage))
    }

    fn lasting(&self) -> Vec<String> {
        self.lasting.clone()
    }
}

impl UpstreamMemory for Limiter {
    fn answered<'a>(
        &'a self,
        operation: &'a str,
        status: u16,
        headers: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        Box::pin(async move {
            let rules = Arc::clone(&self.rules);
            let (name, headers) = (operation.to_owned(), owned(headers));
            let note = move |ledger: &mut Ledger, now| {
                let headers: Vec<_> =
                    headers.iter().map(|(name, value)| (&**name, &**value)).collect();
                let changed = !ledger.is_lost()
                    && rules.record_response(ledger, &name, status, &headers, now);
                let exceeded = (rules.exceeded(ledger, &name, now), now);
                if changed { LedgerUpdate::Write(exceeded) } else { LedgerUpdate::Keep(exceeded) }
            };
            match self.ledger.change_even_if_cancelled(note).await? {
                (Some(exceeded), now) if status == 429 => {
                    let entry = AuditEntry {
                        event: "LIMIT_EXCEEDED",
                        operation: Some(operation),
                        outcome: "denied",
                        reason: Some("the wrapped API accepts no more calls"),
                        ..AuditEntry::default()
                    };
                    self.services.audit.record(&entry).await;
                    Err(limit_error::exceeded(&self.rules, &exceeded, now))
                }
                _ if status == 429 => Err(OperationError::rate_limited(1)),
                _ => Ok(()),
            }
        })
    }
}

/// Returns the limit whose pacing rejects a call, if there is one.
fn check_pacers(
    rules: &Rules,
    pacers: &[Option<BurstPacer>],
    operation: &str,
    now: Micros,
) -> Option<Exceeded> {
    rules.covering(operation).find_map(|(place, _)| {
        let wait = pacers.get(place)?.as_ref()?.check().err()?;
        let wait = Micros::try_from(wait.as_micros()).unwrap_or(DEFAULT_BLOCK_MICROS);
        Some(Exceeded { limit: Some(place), resets_at: now.saturating_add(wait) })
    })
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl Rules {
    /// Records the limits that a response reports. Returns whether it reported any.
    pub(super) fn record_response(
        &self,
        ledger: &mut Ledger,
        operation: &str,
        status: u16,
        headers: &[(&str, &str)],
        now: Micros,
    ) -> bool {
        let wait = retry_after(headers, now);
        // A 503 without `Retry-After` contains no information on limits.
        let blocks = status == 429 || (status == 503 && wait.is_some());
        let (mut changed, mut spent, mut shortest) = (false, Vec::new(), DEFAULT_BLOCK_MICROS);
        let (mut covering, mut resets_at) = (Vec::new(), None);
        for (_, rule) in self.covering(operation) {
            let value = |name: &Option<String>| header(headers, name.as_deref()?);
            let window = rule.limit.window.micros();
            let end = value(&rule.limit.reset_header).and_then(|value| reset(value, now));
            shortest = if covering.is_empty() { window } else { shortest.min(window) };
            covering.push(&rule.id);
            resets_at = resets_at.max(end);
            if let Some(left) = value(&rule.limit.remaining_header).and_then(remaining) {
                let until = end.or(wait).unwrap_or(now.saturating_add(window));
                ledger.record_remaining(&rule.id, now, left, until, end.is_some());
                changed = true;
                if left == 0 {
                    spent.push(&rule.id);
                }
            }
        }
        if !blocks {
            return changed;
        }
        // Blocks the limits that are reported as used up, or all of them if none is reported.
        let own = Self::own_id(operation);
        let blocked = match (spent.is_empty(), covering.is_empty()) {
            (false, _) => spent,
            (true, false) => covering,
            (true, true) => vec![&own],
        };
        let until = wait.or(resets_at).unwrap_or(now.saturating_add(shortest));
        for id in blocked {
            ledger.block(id, now, until);
        }
        true
    }
}

/// Handles responses for an adapter without limits, without remembering them.
pub(crate) struct NoUpstreamMemory(pub(crate) crate::clock::TimeSource);

impl UpstreamMemory for NoUpstreamMemory {
    fn answered<'a>(
        &'a self,
        _operation: &'a str,
        status: u16,
        headers: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        let now = self.0.now().timestamp_micros();
        let outcome = if status == 429 {
            let until =
                retry_after(headers, now).unwrap_or(now.saturating_add(DEFAULT_BLOCK_MICROS));
            Err(OperationError::rate_limited(limit_error::seconds(until, now)))
        } else {
            Ok(())
        };
        Box::pin(std::future::ready(outcome))
    }
}
