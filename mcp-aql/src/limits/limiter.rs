//! Counts calls, and rejects those that exceed a limit or a quota.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use mcp_aql_protocol::SemanticCategory;

use super::RateLimits;
use super::counter::Micros;
use super::keeper::{Keeper, Step};
use super::ledger::Ledger;
use super::pace::Pace;
use super::refusal;
use super::rules::{Counted, Exceeded, Rules, Spent, Verdict};
use super::upstream::{header, remaining, reset, retry_after};
use crate::audit::AuditEntry;
use crate::error::OperationError;
use crate::future::BoxFuture;
use crate::operation::{Context, RegisteredOperation, UpstreamMemory, Usage};
use crate::services::Services;
use crate::session::Session;

/// The assumed time until the reset of an API's limit, if neither the API nor a declaration states it.
const A_WHILE: Micros = 60 * 1_000_000;

/// Issues and consumes the tokens of one call.
pub(crate) trait QuotaTokens: Send + Sync {
    /// Issues a token for this call at a paused quota. Returns it with its expiry.
    fn issue(&self) -> BoxFuture<'_, Result<(String, DateTime<Utc>), OperationError>>;

    /// Consumes the tokens of this call: its confirmation, if it needs one, and its token for a paused quota,
    /// if one is paused. All are consumed together or none.
    fn use_up<'a>(&'a self, quota: Option<&'a str>) -> BoxFuture<'a, Result<(), OperationError>>;
}

/// A call that requests admission.
#[derive(Clone, Copy)]
pub(crate) struct Applicant<'a> {
    pub(crate) operation: &'a RegisteredOperation,
    pub(crate) context: &'a Context,
    /// `params._quota_continue`.
    pub(crate) token: Option<&'a str>,
}

/// Counts the calls of one adapter, and rejects those that exceed a limit.
pub(crate) struct Limiter {
    services: Arc<Services>,
    pub(super) rules: Arc<Rules>,
    /// The pacing of each limit, by index.
    paces: Arc<[Option<Pace>]>,
    ledger: Keeper,
}

impl Limiter {
    pub(crate) fn new<'a>(
        declared: &RateLimits,
        operations: impl IntoIterator<Item = (&'a str, &'a str, SemanticCategory)>,
        services: Arc<Services>,
    ) -> Self {
        Self {
            rules: Arc::new(Rules::new(declared, operations)),
            paces: declared.limits.iter().map(|limit| Pace::of(limit, &services.time)).collect(),
            ledger: Keeper::new(Arc::clone(&services)),
            services,
        }
    }

    /// Returns whether a call may need a token because of a paused quota.
    pub(crate) fn may_pause(&self) -> bool {
        self.rules.quotas.iter().any(|quota| quota.pause.is_some())
    }

    pub(super) fn adapter(&self) -> &str {
        &self.services.audit.adapter
    }

    /// Rejects a call that [`admit`](Self::admit) would reject, without counting it. Used before a confirmation
    /// is requested.
    pub(crate) async fn check(
        &self,
        call: Applicant<'_>,
        tokens: &dyn QuotaTokens,
    ) -> Result<(), OperationError> {
        let name = call.operation.spec.name;
        let continued = call.token.is_some();
        let decide = |ledger: &Ledger, now| (self.rules.decide(ledger, name, now, continued), now);
        let (verdict, now) = self.ledger.look(decide).await?;
        match verdict {
            Verdict::Admit(_) | Verdict::Continue(..) => Ok(()),
            refused => Err(self.refuse(call, refused, now, tokens).await),
        }
    }

    /// Counts and admits a call, or rejects it. This is the last gate, so that calls rejected by other gates are
    /// not counted (REQ-RATE-01).
    ///
    /// The call is counted before its tokens are consumed, and subtracted again if they are invalid. If two
    /// calls compete for the last place, the one that is rejected keeps its token.
    pub(crate) async fn admit(
        &self,
        call: Applicant<'_>,
        tokens: &dyn QuotaTokens,
    ) -> Result<Counted, OperationError> {
        let (verdict, now, counted) = self.take_place(call).await?;
        let (spent, paused) = match verdict {
            Verdict::Admit(spent) => (spent, None),
            Verdict::Continue(spent, paused) => (spent, Some(paused)),
            refused => return Err(self.refuse(call, refused, now, tokens).await),
        };
        let Some(counted) = counted else {
            return Err(OperationError::internal("an admitted call was not counted"));
        };
        if let Err(error) = tokens.use_up(call.token.filter(|_| paused.is_some())).await {
            self.give_back(counted).await;
            return Err(error);
        }
        if let Some(paused) = paused {
            self.audit(call, "QUOTA_CONTINUED", "confirmed", self.metric(paused)).await;
        }
        self.warn(call, &spent).await;
        Ok(counted)
    }

    /// Decides on a call and counts it if it is admitted. Returns the decision, its time and the counted call.
    async fn take_place(
        &self,
        call: Applicant<'_>,
    ) -> Result<(Verdict, Micros, Option<Counted>), OperationError> {
        let name = call.operation.spec.name;
        let continued = call.token.is_some();
        let (rules, paces) = (Arc::clone(&self.rules), Arc::clone(&self.paces));
        let mut paced = false;
        let counted = self.ledger.change(move |ledger, now| {
            let verdict = rules.decide(ledger, name, now, continued);
            if !matches!(verdict, Verdict::Admit(_) | Verdict::Continue(..)) {
                return Step::Keep((verdict, now, None));
            }
            if !paced && let Some(exceeded) = pace(&rules, &paces, name, now) {
                return Step::Keep((Verdict::Exceeded(exceeded), now, None));
            }
            paced = true;
            let counted = rules.count(ledger, name, now);
            let told = (verdict, now, Some(counted));
            if rules.counts(name) { Step::Write(told) } else { Step::Keep(told) }
        });
        counted.await
    }

    /// Subtracts a counted call that does not run.
    pub(crate) async fn give_back(&self, counted: Counted) {
        let rules = Arc::clone(&self.rules);
        let given = self.ledger.note(move |ledger, _| match rules.give_back(ledger, counted) {
            true => Step::Write(()),
            false => Step::Keep(()),
        });
        if let Err(error) = given.await {
            let cause = error.cause().map(ToString::to_string);
            tracing::error!(cause, ?counted, "cannot subtract a counted call that did not run");
        }
    }

    /// Counts the usage that an operation has reported. A failure is only logged, because the operation has run.
    pub(crate) async fn settle(&self, usage: Usage) {
        let rules = Arc::clone(&self.rules);
        let counted = self.ledger.note(move |ledger, now| {
            if ledger.is_lost() {
                return Step::Keep(false);
            }
            rules.settle(ledger, usage, now);
            Step::Write(true)
        });
        let cause = match counted.await {
            Ok(true) => return,
            Ok(false) => Some("the record of the counters is unreadable".to_owned()),
            Err(error) => error.cause().map(ToString::to_string),
        };
        tracing::error!(cause, ?usage, "cannot count the usage of an operation");
    }

    /// Reads the ledger.
    pub(super) async fn look<T>(
        &self,
        look: impl FnOnce(&Ledger, Micros) -> T,
    ) -> Result<T, OperationError> {
        self.ledger.look(look).await
    }

    async fn refuse(
        &self,
        call: Applicant<'_>,
        verdict: Verdict,
        now: Micros,
        tokens: &dyn QuotaTokens,
    ) -> OperationError {
        let (event, about, error) = match verdict {
            Verdict::Exceeded(exceeded) => {
                let error = refusal::exceeded(&self.rules, &exceeded, now);
                ("LIMIT_EXCEEDED", self.rules.id_of(&exceeded, call.operation.spec.name), error)
            }
            Verdict::Exhausted(spent, resets_at) => {
                let error = refusal::exhausted(&self.rules, spent, resets_at, now);
                ("QUOTA_EXHAUSTED", self.metric(spent).to_owned(), error)
            }
            Verdict::Paused(spent) => {
                let issued = match tokens.issue().await {
                    Ok(issued) => issued,
                    Err(error) => return error,
                };
                let error = refusal::paused(&self.rules, spent, issued);
                ("QUOTA_PAUSED", self.metric(spent).to_owned(), error)
            }
            Verdict::Unreadable(id) => {
                let error = refusal::unreadable(self.adapter(), &id);
                ("LIMIT_UNREADABLE", id, error)
            }
            Verdict::Admit(_) | Verdict::Continue(..) => {
                return OperationError::internal("no limit rejects this call");
            }
        };
        self.audit(call, event, "denied", &about).await;
        error
    }

    /// Adds warnings for quotas that are almost used up (REQ-WRN-06).
    async fn warn(&self, call: Applicant<'_>, spent: &[Spent]) {
        for one in spent {
            if let Some(warning) = refusal::warning(&self.rules, *one) {
                call.context.warn(warning);
                self.audit(call, "QUOTA_WARNING", "allowed", self.metric(*one)).await;
            }
        }
    }

    fn metric(&self, spent: Spent) -> &'static str {
        self.rules.quotas.get(spent.quota).map_or("", |quota| quota.metric.as_str())
    }

    async fn audit(&self, call: Applicant<'_>, event: &str, outcome: &str, about: &str) {
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
                let told =
                    !ledger.is_lost() && rules.take_note(ledger, &name, status, &headers, now);
                let exceeded = (rules.exceeded(ledger, &name, now), now);
                if told { Step::Write(exceeded) } else { Step::Keep(exceeded) }
            };
            match self.ledger.note(note).await? {
                (Some(exceeded), now) if status == 429 => {
                    let entry = AuditEntry {
                        event: "LIMIT_EXCEEDED",
                        operation: Some(operation),
                        outcome: "denied",
                        reason: Some("the wrapped API accepts no more calls"),
                        ..AuditEntry::default()
                    };
                    self.services.audit.record(&entry).await;
                    Err(refusal::exceeded(&self.rules, &exceeded, now))
                }
                _ if status == 429 => Err(OperationError::rate_limited(1)),
                _ => Ok(()),
            }
        })
    }
}

/// Returns the limit whose pacing rejects a call, if there is one.
fn pace(rules: &Rules, paces: &[Option<Pace>], operation: &str, now: Micros) -> Option<Exceeded> {
    rules.covering(operation).find_map(|(place, _)| {
        let wait = paces.get(place)?.as_ref()?.check().err()?;
        let wait = Micros::try_from(wait.as_micros()).unwrap_or(A_WHILE);
        Some(Exceeded { limit: Some(place), resets_at: now.saturating_add(wait) })
    })
}

fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl Rules {
    /// Records the limits that a response reports. Returns whether it reported any.
    pub(super) fn take_note(
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
        let (mut told, mut spent, mut shortest) = (false, Vec::new(), A_WHILE);
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
                ledger.note_left(&rule.id, now, left, until, end.is_some());
                told = true;
                if left == 0 {
                    spent.push(&rule.id);
                }
            }
        }
        if !blocks {
            return told;
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
pub(crate) struct Forgetful(pub(crate) crate::clock::TimeSource);

impl UpstreamMemory for Forgetful {
    fn answered<'a>(
        &'a self,
        _operation: &'a str,
        status: u16,
        headers: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Result<(), OperationError>> {
        let now = self.0.now().timestamp_micros();
        let outcome = if status == 429 {
            let until = retry_after(headers, now).unwrap_or(now.saturating_add(A_WHILE));
            Err(OperationError::rate_limited(refusal::seconds(until, now)))
        } else {
            Ok(())
        };
        Box::pin(std::future::ready(outcome))
    }
}
