//! The audit log: JSON lines that record each call, the decision of the gates and the reason for it.
//!
//! Every entry is a `tracing` event of the target [`TARGET`] whose field `entry` is one line of JSON,
//! and a line in each [`AuditSink`]. Secrets, and parameters that are marked `sensitive`, are masked
//! before an entry reaches this module.
//!
//! Source: REQ-GATE-09, REQ-DNG-09, REQ-TOK-16.

mod bounded;
mod file;
#[cfg_attr(not(unix), path = "audit/without_file_identity.rs")]
mod file_identity;

use std::io;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_protocol::TrustLevel;
use serde::Serialize;
use serde_json::Value;

pub(crate) use self::file::AuditFile;
use crate::store::{Change, Expected, MonitoredStore, NewRecord, Ready, StateStore, StoreError};
use crate::util::clock::{TimeSource, later};
use crate::util::future::BoxFuture;
use crate::util::sync::lock;

/// The outcomes that REQ-GATE-09 defines.
const GATE_RESULTS: [&str; 3] = ["allowed", "denied", "confirmed"];

/// The target of the audit log's `tracing` events.
pub const TARGET: &str = "mcp_aql::audit";

/// A destination for the audit log's lines, besides `tracing`.
pub trait AuditSink: Send + Sync + 'static {
    /// Appends a line. The line has no trailing line break.
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>>;

    /// Opens the destination again, for example after a rotation. Called by
    /// [`Adapter::reopen_audit_log`](crate::Adapter::reopen_audit_log), and by the command line at SIGHUP.
    fn reopen(&self) {}
}

impl<S: AuditSink + ?Sized> AuditSink for Arc<S> {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        (**self).append(line)
    }

    fn reopen(&self) {
        (**self).reopen();
    }
}

/// Receives the events of the audit log before they become text, for metrics.
pub trait AuditObserver: Send + Sync + 'static {
    /// Called for each event. It must return quickly.
    fn observe(&self, entry: &AuditEntry<'_>);

    /// Returns whether the observer needs events now. If nothing needs them, they are not built.
    fn is_active(&self) -> bool {
        true
    }
}

/// A step of a confirmation, and who confirms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmation {
    /// The step of the confirmation.
    pub step: ConfirmationStep,
    /// Who confirms.
    pub by: ConfirmedBy,
}

/// A step of a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmationStep {
    /// The confirmation was requested.
    Asked,
    /// The confirmation was given.
    Approved,
    /// The confirmation was refused, or what should prove it was not valid.
    Refused,
}

/// Who confirms a call, or a step of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmedBy {
    /// The caller, who makes the call again with a token.
    Token,
    /// The user of the caller's client, who answers a question.
    User,
    /// A person, through a channel of the operator.
    Person,
}

impl ConfirmedBy {
    /// Returns this step of a confirmation.
    pub const fn has(self, step: ConfirmationStep) -> Confirmation {
        Confirmation { step, by: self }
    }
}

/// An audit event. Fields that do not apply to the event are omitted, and long values of callers are shortened, so that no
/// caller fills the disk with few calls.
#[derive(Debug, Default, Serialize)]
pub struct AuditEntry<'a> {
    /// `OPERATION_DENIED`, `TOKEN_ISSUED`, …
    pub event: &'a str,
    /// The operation of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'a str>,
    /// The endpoint family of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<&'a str>,
    /// The danger level of the operation, from 0 to 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub danger_level: Option<u8>,
    /// `allowed`, `denied` or `confirmed` for gates, `success` or `failure` for tokens, and the result of a
    /// challenge.
    pub outcome: &'a str,
    /// The reported action, or the operation with its parameters, as a person decides about it. What looks like a
    /// secret is masked.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "bounded::text")]
    pub action: Option<&'a str>,
    /// The reason of the outcome.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "bounded::text")]
    pub reason: Option<&'a str>,
    /// The error code for which a token was rejected (REQ-TOK-16).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<&'a str>,
    /// The identifier of the confirmation token, which is not the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<&'a str>,
    /// The authenticated caller: issuer and subject, separated by a space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<&'a str>,
    /// The session of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    /// The agent that executes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<&'a str>,
    /// The execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<&'a str>,
    /// The challenge or approval request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge_id: Option<&'a str>,
    /// The channel of the person who decided, if a person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<&'a str>,
    /// The name of the operator who decided, if the channel knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<&'a str>,
    /// The parameters, with secrets masked and long values shortened.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "bounded::value")]
    pub params: Option<Value>,
    /// The step of a confirmation that this event is, for metrics. Other fields of the event describe it in the log.
    #[serde(skip)]
    pub confirmation: Option<Confirmation>,
}

#[derive(Serialize)]
struct AuditLine<'a> {
    timestamp: String,
    adapter_name: &'a str,
    adapter_trust: TrustLevel,
    #[serde(flatten)]
    entry: &'a AuditEntry<'a>,
    /// The outcome under the name that gatekeeper events use (REQ-GATE-09).
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
}

/// Writes the audit log of one adapter.
pub struct Audit {
    /// The name of the adapter.
    pub adapter: String,
    /// The trust level of the adapter.
    pub trust: TrustLevel,
    /// The clock.
    pub time: TimeSource,
    /// The receivers of the entries.
    pub sinks: Vec<Arc<dyn AuditSink>>,
    /// The observers of the events. They receive no events of calls that are allowed without a question, which only
    /// a log needs.
    pub observers: Vec<Arc<dyn AuditObserver>>,
}

impl Audit {
    /// Returns whether the log has a reader: a sink, or a subscriber for its target.
    pub(crate) fn is_read(&self) -> bool {
        !self.sinks.is_empty() || tracing::enabled!(target: TARGET, tracing::Level::INFO)
    }

    /// Opens the destinations again.
    pub(crate) fn reopen(&self) {
        self.sinks.iter().for_each(|sink| sink.reopen());
    }

    /// Returns whether an event has a receiver.
    pub(crate) fn is_used(&self) -> bool {
        self.observers.iter().any(|observer| observer.is_active()) || self.is_read()
    }

    /// Appends an entry.
    pub async fn record(&self, entry: &AuditEntry<'_>) {
        for observer in &self.observers {
            observer.observe(entry);
        }
        if !self.is_read() {
            return;
        }
        let line = AuditLine {
            timestamp: crate::util::clock::text(self.time.now()),
            adapter_name: &self.adapter,
            adapter_trust: self.trust,
            entry,
            result: Some(entry.outcome).filter(|outcome| GATE_RESULTS.contains(outcome)),
        };
        let line = match serde_json::to_string(&line) {
            Ok(line) => line,
            Err(error) => return tracing::error!(%error, "cannot serialize an audit entry"),
        };
        // A person may read the log in a terminal: characters that change the direction of writing are escapes too.
        let line = mcp_aql_text::visible_json(&line);
        tracing::info!(target: TARGET, entry = %line);
        for sink in &self.sinks {
            if let Err(error) = sink.append(&line).await {
                tracing::error!(%error, entry = %line, "cannot write to the audit log");
            }
        }
    }
}

/// The collection of the store that holds the audit log.
pub(crate) const COLLECTION: &str = "audit";

/// Writes audit entries to the adapter's store, under keys that sort by time.
pub(crate) struct AuditStore {
    store: Arc<MonitoredStore>,
    ready: Arc<Ready>,
    time: TimeSource,
    /// How long entries are kept; `None` keeps them forever.
    keep: Option<TimeDelta>,
    /// When the store was last asked to purge expired records.
    purged: Mutex<Option<DateTime<Utc>>>,
}

impl AuditStore {
    pub(crate) fn new(
        store: Arc<MonitoredStore>,
        ready: Arc<Ready>,
        time: TimeSource,
        keep: Option<TimeDelta>,
    ) -> Self {
        Self { store, ready, time, keep, purged: Mutex::default() }
    }

    async fn write(&self, line: &str, now: DateTime<Utc>) -> Result<(), StoreError> {
        // This entry may be the first use of the store.
        self.ready.get_or_try_init(|| self.store.prepare()).await?;
        let micros = now.timestamp_micros();
        let key = format!("{micros:020}-{}", uuid::Uuid::new_v4().simple());
        let mut record = NewRecord::new(line);
        record.expires_at = self.keep.map(|keep| later(now, keep));
        self.store.write(vec![Change::put(COLLECTION, key, Expected::Absent, record)]).await?;
        if self.is_purge_due(now) {
            self.store.purge(now).await?;
        }
        Ok(())
    }

    /// Returns whether expired entries are due to be purged, and records the time if so.
    fn is_purge_due(&self, now: DateTime<Utc>) -> bool {
        const PURGE_INTERVAL: TimeDelta = TimeDelta::minutes(10);
        let mut purged = lock(&self.purged);
        let due = self.keep.is_some()
            && purged.is_none_or(|at| at > now || later(at, PURGE_INTERVAL) <= now);
        if due {
            *purged = Some(now);
        }
        due
    }
}

impl AuditSink for AuditStore {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        let now = self.time.now();
        Box::pin(async move { self.write(line, now).await.map_err(io::Error::other) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file_access::SettingPath;

    #[tokio::test]
    async fn an_entry_is_one_line_with_what_happened() {
        // REQ-GATE-09, REQ-DNG-09, REQ-DNG-15
        let folder = std::env::temp_dir().join(crate::vocab::new_id("audit"));
        let file = AuditFile::open(&SettingPath::new(&folder, &*folder)).unwrap();
        let at = "2031-05-06T07:00:00Z".parse().unwrap();
        let audit = Audit {
            adapter: "beds".to_owned(),
            trust: TrustLevel::Validated,
            time: TimeSource::new(move || at),
            sinks: vec![Arc::new(file)],
            observers: Vec::new(),
        };
        // Controls, and characters that change the direction of writing or are not shown.
        const HIDDEN: &str = "a\u{1b}\u{7f}\u{9b}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{202a}\u{202b}\u{202c}\u{202d}\
                              \u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{e0041}b";
        for outcome in ["denied", "allowed"] {
            let entry = AuditEntry {
                event: "OPERATION_DENIED",
                operation: Some("delete_bed"),
                endpoint: Some("delete"),
                danger_level: Some(2),
                outcome,
                reason: Some("line\nbreak"),
                action: Some(HIDDEN),
                params: Some(serde_json::json!({ HIDDEN: HIDDEN })),
                ..AuditEntry::default()
            };
            audit.record(&entry).await;
        }
        let text = std::fs::read_to_string(&folder).unwrap();
        std::fs::remove_file(&folder).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(
            lines[0],
            serde_json::json!({
                "timestamp": "2031-05-06T07:00:00.000Z", "adapter_name": "beds",
                "adapter_trust": "validated", "event": "OPERATION_DENIED",
                "operation": "delete_bed", "endpoint": "delete", "danger_level": 2,
                "outcome": "denied", "reason": "line\nbreak", "result": "denied",
                "action": HIDDEN, "params": { HIDDEN: HIDDEN },
            })
        );
        let hidden = text.chars().find(|each| *each != '\n' && mcp_aql_text::is_hidden(*each));
        assert_eq!(hidden, None, "{text}");
        assert!(text.contains(r"\u202e\u2066"), "{text}");
    }
}
