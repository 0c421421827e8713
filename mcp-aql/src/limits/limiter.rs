use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::sync::Mutex;

use super::RateLimits;
use super::counter::Micros;
use super::ledger::Ledger;
use super::pace::Pace;
use super::refusal;
use super::rules::{Exceeded, Rules, Spent, Verdict};
use super::upstream::{header, remaining, reset, retry_after};
use crate::audit::AuditEntry;
use crate::error::OperationError;
use crate::operation::{BoxFuture, Context, RegisteredOperation, Session, UpstreamMemory, Usage};
use crate::services::Services;
use crate::store::{Change, Expected, NewRecord, Record, StoreError};
use crate::vocab::SemanticCategory;

/// The collection of the store that holds the counters: a record for each adapter.
const COLLECTION: &str = "limits";
/// How often a change is tried. Whenever one fails another process has made its own, so that somebody
/// always gets ahead.
const MOST_TRIES: usize = 1_000;
/// How long calls wait for an API that does not say, in a limit that nobody declared.
const A_WHILE: Micros = 60 * 1_000_000;

/// Makes and takes the tokens by which one call goes on although a quota pauses.
pub(crate) trait QuotaTokens: Send + Sync {
    /// A token for this very call, and when it expires.
    fn issue(&self) -> BoxFuture<'_, Result<(String, DateTime<Utc>), OperationError>>;

    /// Uses the token up.
    fn redeem<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<(), OperationError>>;
}

/// A call that wants to run.
#[derive(Clone, Copy)]
pub(crate) struct Applicant<'a> {
    pub(crate) operation: &'a RegisteredOperation,
    pub(crate) context: &'a Context,
    /// `params._quota_continue`.
    pub(crate) token: Option<&'a str>,
}

/// Counts the calls of one adapter, and refuses those that are too many.
pub(crate) struct Limiter {
    services: Arc<Services>,
    pub(super) rules: Rules,
    /// By the places of the limits.
    paces: Vec<Option<Pace>>,
    kept: Mutex<Kept>,
}

/// The ledger as it was last seen in the store, so that it is only read anew when it has changed there.
/// The lock is held while a change is made: calls of this process do not get in each other's way.
#[derive(Default)]
struct Kept {
    /// The record's text; empty when it is not known.
    text: String,
    ledger: Ledger,
}

/// What comes of a look into the ledger.
enum Step<T> {
    /// It stays as it is.
    Keep(T),
    /// It has changed.
    Write(T),
}

impl Limiter {
    pub(crate) fn new<'a>(
        declared: &RateLimits,
        operations: impl IntoIterator<Item = (&'a str, &'a str, SemanticCategory)>,
        services: Arc<Services>,
    ) -> Self {
        Self {
            rules: Rules::new(declared, operations),
            paces: declared.limits.iter().map(|limit| Pace::of(limit, &services.time)).collect(),
            kept: Mutex::default(),
            services,
        }
    }

    /// Whether a call may need a token to go on.
    pub(crate) fn may_pause(&self) -> bool {
        self.rules.quotas.iter().any(|quota| quota.pause.is_some())
    }

    pub(super) fn adapter(&self) -> &str {
        &self.services.audit.adapter
    }

    /// Refuses what [`admit`](Self::admit) would refuse, and counts nothing: before a token is used up
    /// for a call that cannot run.
    pub(crate) async fn check(
        &self,
        call: Applicant<'_>,
        tokens: &dyn QuotaTokens,
    ) -> Result<(), OperationError> {
        let name = call.operation.spec.name;
        let continued = call.token.is_some();
        let (verdict, now) = self
            .with_ledger(|ledger, now| {
                Step::Keep((self.rules.decide(ledger, name, now, continued), now))
            })
            .await?;
        match verdict {
            Verdict::Admit(_) => Ok(()),
            refused => Err(self.refuse(call, refused, now, tokens).await),
        }
    }

    /// Counts a call and lets it run, or says why not. The last of the gates: what is refused for
    /// another reason is not counted (REQ-RATE-01).
    pub(crate) async fn admit(
        &self,
        call: Applicant<'_>,
        tokens: &dyn QuotaTokens,
    ) -> Result<(), OperationError> {
        let name = call.operation.spec.name;
        let (mut continued, mut paced) = (false, false);
        loop {
            let (verdict, now) = self
                .with_ledger(|ledger, now| {
                    let verdict = self.rules.decide(ledger, name, now, continued);
                    if !matches!(verdict, Verdict::Admit(_)) {
                        return Step::Keep((verdict, now));
                    }
                    if !paced && let Some(exceeded) = self.pace(name, now) {
                        return Step::Keep((Verdict::Exceeded(exceeded), now));
                    }
                    paced = true;
                    self.rules.count(ledger, name, now);
                    Step::Write((verdict, now))
                })
                .await?;
            match (verdict, call.token) {
                (Verdict::Admit(spent), _) => {
                    self.warn(call, &spent).await;
                    return Ok(());
                }
                (Verdict::Paused(spent), Some(token)) if !continued => {
                    tokens.redeem(token).await?;
                    continued = true;
                    let metric = self.metric(spent);
                    self.audit(call, "QUOTA_CONTINUED", "confirmed", metric).await;
                }
                (refused, _) => return Err(self.refuse(call, refused, now, tokens).await),
            }
        }
    }

    /// Counts what an operation has reported. What it used is used, so that a failure is for the log.
    pub(crate) async fn settle(&self, usage: Usage) {
        let counted = self
            .with_ledger(|ledger, now| {
                self.rules.settle(ledger, usage, now);
                Step::Write(())
            })
            .await;
        if let Err(error) = counted {
            let cause = error.cause().map(ToString::to_string);
            tracing::error!(cause, ?usage, "what an operation used cannot be counted");
        }
    }

    /// Looks into the ledger without changing it.
    pub(super) async fn look<T: Send>(
        &self,
        look: impl Fn(&Ledger, Micros) -> T + Send + Sync,
    ) -> Result<T, OperationError> {
        self.with_ledger(|ledger, now| Step::Keep(look(ledger, now))).await
    }

    async fn with_ledger<T: Send>(
        &self,
        mut step: impl FnMut(&mut Ledger, Micros) -> Step<T> + Send,
    ) -> Result<T, OperationError> {
        let store = self.services.store_for_call().await?;
        let mut kept = self.kept.lock().await;
        for _ in 0..MOST_TRIES {
            let expected = kept.take_up(store.get(COLLECTION, self.adapter()).await?)?;
            let now = kept.ledger.time(self.services.time.now().timestamp_micros());
            let done = match step(&mut kept.ledger, now) {
                Step::Keep(done) => return Ok(done),
                Step::Write(done) => done,
            };
            kept.ledger.tidy(now);
            // Until the store has it, what is kept here is nowhere else.
            kept.text.clear();
            let text = serde_json::to_string(&kept.ledger).map_err(OperationError::internal)?;
            let record = NewRecord::new(text.as_str());
            let change = Change::put(COLLECTION, self.adapter(), expected, record);
            if store.write(vec![change]).await? {
                kept.text = text;
                return Ok(done);
            }
            tokio::task::yield_now().await;
        }
        Err(OperationError::internal("others change the counters all the time"))
    }

    /// The limit whose pace a call would break, if one does.
    fn pace(&self, operation: &str, now: Micros) -> Option<Exceeded> {
        self.rules.covering(operation).find_map(|(place, _)| {
            let wait = self.paces.get(place)?.as_ref()?.check().err()?;
            let wait = Micros::try_from(wait.as_micros()).unwrap_or(A_WHILE);
            Some(Exceeded { limit: Some(place), resets_at: now.saturating_add(wait) })
        })
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
            Verdict::Admit(_) => return OperationError::internal("nothing refuses this call"),
        };
        self.audit(call, event, "denied", &about).await;
        error
    }

    /// Warns of quotas that come to their end (REQ-WRN-06).
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
            let note = |ledger: &mut Ledger, now| {
                let told = self.take_note(ledger, operation, status, headers, now);
                let exceeded = self.rules.exceeded(ledger, operation, now);
                let told = (exceeded, now, told);
                if told.2 { Step::Write(told) } else { Step::Keep(told) }
            };
            match self.with_ledger(note).await? {
                (Some(exceeded), now, _) if status == 429 => {
                    let entry = AuditEntry {
                        event: "LIMIT_EXCEEDED",
                        operation: Some(operation),
                        outcome: "denied",
                        reason: Some("the wrapped API takes no more calls"),
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

impl Limiter {
    /// Takes note of what a response says; tells whether it said anything.
    pub(super) fn take_note(
        &self,
        ledger: &mut Ledger,
        operation: &str,
        status: u16,
        headers: &[(&str, &str)],
        now: Micros,
    ) -> bool {
        let wait = retry_after(headers, now);
        // A 503 without `Retry-After` tells nothing of limits.
        let blocks = status == 429 || (status == 503 && wait.is_some());
        let (mut told, mut spent, mut shortest) = (false, Vec::new(), A_WHILE);
        let (mut covering, mut resets_at) = (Vec::new(), None);
        for (_, rule) in self.rules.covering(operation) {
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
        // The limits that are spent, where that is told; otherwise any of them may be.
        let own = Rules::own_id(operation);
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

/// What an adapter without limits makes of an answer: it remembers nothing.
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

impl Kept {
    /// Reads the record, if it is another one than before; tells what a change of it expects to find.
    fn take_up(&mut self, found: Option<Record>) -> Result<Expected, StoreError> {
        let Some(record) = found else {
            *self = Self::default();
            return Ok(Expected::Absent);
        };
        if self.text.is_empty() || record.value != self.text {
            self.text.clear();
            self.ledger = serde_json::from_str(&record.value).map_err(|error| {
                StoreError::Unreadable(format!("the counters of the limits: {error}"))
            })?;
            self.text = record.value;
        }
        Ok(Expected::Version(record.version))
    }
}
