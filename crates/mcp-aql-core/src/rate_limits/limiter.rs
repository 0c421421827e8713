//! Counts the calls of an adapter, and rejects those that exceed a limit or a quota.

use std::sync::{Arc, Mutex};

use mcp_aql_protocol::SemanticCategory;

use super::RateLimits;
use super::burst_pacer::BurstPacer;
use super::counter::Micros;
use super::ledger::Ledger;
use super::ledger_store::{LedgerStore, LedgerUpdate};
use super::limit_error;
use super::rules::{CountedCall, Exceeded, LimitDecision, LimitRules};
use super::upstream::{header, remaining, reset, retry_after};
use crate::error::OperationError;
use crate::observe::audit::{Audit, AuditEntry};
use crate::operation::{UpstreamMemory, UpstreamResponse, Usage, UsageRecorder};
use crate::services::Services;
use crate::store::StateStore as _;
use crate::util::BoxFuture;
use crate::util::lock;

/// Assumed time until an API resets its limit, if neither the API nor a declaration states it.
const DEFAULT_BLOCK_MICROS: Micros = 60 * 1_000_000;

/// Counts the calls of one adapter, and rejects those that exceed a limit.
pub(crate) struct Limiter {
    services: Arc<Services>,
    pub(super) rules: Arc<LimitRules>,
    /// Pacing of each limit, by index.
    pacers: Arc<[Option<BurstPacer>]>,
    ledger: LedgerStore,
    /// Limits that wrapped APIs reported for operations that no declared limit counts. They stay in this process, so
    /// that these operations neither wait for the store nor fail with it.
    uncounted: Mutex<Ledger>,
    /// Ids of the limits whose counters should outlive the process.
    lasting: Vec<String>,
}

impl Limiter {
    pub(crate) fn new<'a>(
        declared: &RateLimits,
        operations: impl IntoIterator<Item = (&'a str, &'a str, SemanticCategory)>,
        services: Arc<Services>,
    ) -> Self {
        Self {
            rules: Arc::new(LimitRules::new(declared, operations)),
            pacers: declared
                .limits
                .iter()
                .map(|limit| BurstPacer::of(limit, &services.time))
                .collect(),
            ledger: LedgerStore::new(Arc::clone(&services)),
            uncounted: Mutex::default(),
            services,
            lasting: declared.lasting(),
        }
    }

    pub(super) fn adapter(&self) -> &str {
        &self.services.audit.adapter
    }

    /// Returns the audit log.
    pub(super) fn audit(&self) -> &Audit {
        &self.services.audit
    }

    /// Returns `true` if a call may need a token because of a paused quota.
    pub(super) fn may_pause(&self) -> bool {
        self.rules.quotas.iter().any(|quota| quota.pause.is_some())
    }

    /// Returns a warning if limits per day or month are stored in memory only, because a restart would reset them.
    pub(super) fn forgotten_limits(&self) -> Option<String> {
        let forgets = self.services.store.is_fleeting() && !self.lasting.is_empty();
        forgets.then(|| {
            format!(
                "the counters of {} are only kept in memory, so every start resets them to 0: give the \
                 adapter a persistent `.store(…)`, such as a SqliteState",
                self.lasting.join(", ")
            )
        })
    }

    /// Returns the limit that blocks an operation without declared limits, and the current time.
    pub(super) fn block_of_uncounted(&self, operation: &str) -> Option<(Exceeded, Micros)> {
        let mut ledger = lock(&self.uncounted);
        let now = ledger.time(self.services.time.now().timestamp_micros());
        self.rules.exceeded(&ledger, operation, now).map(|exceeded| (exceeded, now))
    }

    /// Records a response to an operation without declared limits. Returns the block that it caused, if any, and the
    /// current time.
    fn record_uncounted(
        &self,
        operation: &str,
        status: u16,
        headers: &[(&str, &str)],
    ) -> (Option<Exceeded>, Micros) {
        let mut ledger = lock(&self.uncounted);
        let now = ledger.time(self.services.time.now().timestamp_micros());
        self.rules.record_response(&mut ledger, operation, status, headers, now);
        ledger.remove_expired(now);
        (self.rules.exceeded(&ledger, operation, now), now)
    }

    /// Records a response to an operation with declared limits.
    async fn record_counted(
        &self,
        operation: &str,
        status: u16,
        headers: &[(&str, &str)],
    ) -> Result<(Option<Exceeded>, Micros), OperationError> {
        let rules = Arc::clone(&self.rules);
        let (name, headers) = (operation.to_owned(), owned(headers));
        let note = move |ledger: &mut Ledger, now| {
            let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
            let changed =
                !ledger.is_lost() && rules.record_response(ledger, &name, status, &headers, now);
            let exceeded = (rules.exceeded(ledger, &name, now), now);
            if changed { LedgerUpdate::Write(exceeded) } else { LedgerUpdate::Keep(exceeded) }
        };
        self.ledger.change_even_if_cancelled(note).await
    }

    /// Decides on a call without counting it. Returns the decision and its time.
    pub(super) async fn decide(
        &self,
        operation: &str,
        is_continued: bool,
    ) -> Result<(LimitDecision, Micros), OperationError> {
        let rules = &self.rules;
        self.ledger
            .read(|ledger, now| (rules.decide(ledger, operation, now, is_continued), now))
            .await
    }

    /// Decides on a call, and counts it if it is admitted. Returns the decision, its time and the counted call.
    pub(super) async fn count_call(
        &self,
        name: &'static str,
        is_continued: bool,
    ) -> Result<(LimitDecision, Micros, Option<CountedCall>), OperationError> {
        let (rules, pacers) = (Arc::clone(&self.rules), Arc::clone(&self.pacers));
        let mut paced = false;
        let counted = self.ledger.change(move |ledger, now| {
            let decision = rules.decide(ledger, name, now, is_continued);
            if !matches!(decision, LimitDecision::Admit(_) | LimitDecision::Continue(..)) {
                return LedgerUpdate::Keep((decision, now, None));
            }
            if !paced && let Some(exceeded) = check_pacers(&rules, &pacers, name, now) {
                return LedgerUpdate::Keep((LimitDecision::Exceeded(exceeded), now, None));
            }
            paced = true;
            let counted = rules.count(ledger, name, now);
            LedgerUpdate::Write((decision, now, Some(counted)))
        });
        counted.await
    }

    /// Subtracts a counted call that does not run.
    pub(super) async fn release_call(&self, counted: CountedCall) {
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
        if self.rules.quotas.is_empty() {
            return;
        }
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
}

impl UsageRecorder for Limiter {
    fn record(&self, usage: Usage) -> BoxFuture<'_, ()> {
        Box::pin(self.count_usage(usage))
    }
}

impl UpstreamMemory for Limiter {
    fn answered<'a>(
        &'a self,
        response: UpstreamResponse<'a>,
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        let UpstreamResponse { operation, status, headers, .. } = response;
        Box::pin(async move {
            let recorded = if self.rules.counts(operation) {
                self.record_counted(operation, status, headers).await?
            } else {
                self.record_uncounted(operation, status, headers)
            };
            match recorded {
                (Some(exceeded), now) if status == 429 => {
                    let entry = AuditEntry {
                        event: "LIMIT_EXCEEDED",
                        operation: Some(operation),
                        outcome: "denied",
                        reason: Some("the wrapped API accepts no more calls"),
                        principal: response.principal,
                        session: response.session,
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

/// Returns the limit whose pacing rejects a call, or `None` if all accept it.
fn check_pacers(
    rules: &LimitRules,
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

impl LimitRules {
    /// Records the limits that a response reports. Returns `true` if it reported any.
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
        // Blocks the limits reported as exhausted, or all limits of the operation if none is reported.
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

/// Handles the response of a wrapped API for an adapter without limits. Such an adapter does not remember the
/// response.
pub(super) fn answered_without_limits(
    status: u16,
    headers: &[(&str, &str)],
) -> Result<(), OperationError> {
    if status != 429 {
        return Ok(());
    }
    let now = chrono::Utc::now().timestamp_micros();
    let until = retry_after(headers, now).unwrap_or(now.saturating_add(DEFAULT_BLOCK_MICROS));
    Err(OperationError::rate_limited(limit_error::seconds(until, now)))
}
