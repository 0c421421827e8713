//! The audit log. It records each call, the decision of the gates and the reason, as lines of JSON:
//!
//! ```json
//! {
//!   "timestamp": "2031-05-06T07:00:00.000Z", "adapter_name": "beds", "adapter_trust": "validated",
//!   "event": "OPERATION_DENIED", "operation": "delete_bed", "endpoint": "delete", "danger_level": 2,
//!   "outcome": "denied", "reason": "…", "result": "denied"
//! }
//! ```
//!
//! Each entry is a `tracing` event with the target [`TARGET`] and the line in its field `entry`. It is also appended to
//! each [`AuditSink`]. Secrets and parameters marked `sensitive` are masked before an entry reaches this module.
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
use crate::util::BoxFuture;
use crate::util::clock::{TimeSource, later};
use crate::util::lock;

/// The outcomes defined by REQ-GATE-09.
const GATE_RESULTS: [&str; 3] = ["allowed", "denied", "confirmed"];

/// The target of the audit log's `tracing` events. Use it to filter them in your subscriber.
pub const TARGET: &str = "mcp_aql::audit";

/// A destination for the lines of the audit log, in addition to `tracing`. Implement it to send the log to your own
/// system, and add it with [`AdapterBuilder::audit_sink`](crate::AdapterBuilder::audit_sink).
///
/// ```
/// use std::io;
/// use std::sync::Mutex;
///
/// use mcp_aql::audit::AuditSink;
/// use mcp_aql::{Adapter, BoxFuture};
///
/// /// Keeps the lines in memory.
/// #[derive(Default)]
/// struct Lines(Mutex<Vec<String>>);
///
/// impl AuditSink for Lines {
///     fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
///         self.0.lock().unwrap().push(line.to_owned());
///         Box::pin(std::future::ready(Ok(())))
///     }
/// }
///
/// let builder = Adapter::builder("tasks").audit_sink(Lines::default());
/// ```
pub trait AuditSink: Send + Sync + 'static {
    /// Appends a line. The line has no trailing line break. An error is logged together with the line, and the call
    /// continues.
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>>;

    /// Reopens the destination, for example after a rotation. Called by
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

/// Receives the events of the audit log before they are serialized. Implement it to count them as metrics.
pub trait AuditObserver: Send + Sync + 'static {
    /// Called for each event. It must return quickly, because the call waits for it.
    fn observe(&self, entry: &AuditEntry<'_>);

    /// Returns `true` if the observer needs events now. If no receiver needs an event, the event is not built.
    fn is_active(&self) -> bool {
        true
    }
}

/// A step of a confirmation, and the party that confirms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmation {
    /// Step of the confirmation.
    pub step: ConfirmationStep,
    /// The party that confirms.
    pub by: ConfirmedBy,
}

/// A step of a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmationStep {
    /// The confirmation was requested.
    Asked,
    /// The confirmation was given.
    Approved,
    /// The confirmation was denied, or its proof was invalid.
    Refused,
}

/// The party that confirms a call, or a step of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmedBy {
    /// The caller. It repeats the call with a token.
    Token,
    /// The user of the caller's client. The client shows the user a question.
    User,
    /// A person, through a channel of the operator.
    Person,
}

impl ConfirmedBy {
    /// Returns the given step of a confirmation by this party.
    pub const fn has(self, step: ConfirmationStep) -> Confirmation {
        Confirmation { step, by: self }
    }
}

/// An event of the audit log. Fields that do not apply to the event are omitted. Long values of callers are shortened,
/// so that a caller cannot fill the disk with a few calls.
#[derive(Debug, Default, Serialize)]
pub struct AuditEntry<'a> {
    /// Name of the event: `OPERATION_DENIED`, `TOKEN_ISSUED`, …
    pub event: &'a str,
    /// Operation of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'a str>,
    /// Endpoint family of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<&'a str>,
    /// Danger level of the operation, from 0 to 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub danger_level: Option<u8>,
    /// `allowed`, `denied` or `confirmed` for gates, `success` or `failure` for tokens, and the result of a challenge.
    pub outcome: &'a str,
    /// The reported action, or the operation with its parameters, as shown to the person who decides. Values that look
    /// like secrets are masked.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "bounded::text")]
    pub action: Option<&'a str>,
    /// Reason for the outcome.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "bounded::text")]
    pub reason: Option<&'a str>,
    /// Error code of a rejected token (REQ-TOK-16).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<&'a str>,
    /// Identifier of the confirmation token. It differs from the token, so it can be logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<&'a str>,
    /// The authenticated caller: issuer and subject, separated by a space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<&'a str>,
    /// Session of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    /// The executing agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<&'a str>,
    /// Id of the execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<&'a str>,
    /// Id of the challenge or approval request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge_id: Option<&'a str>,
    /// Channel of the person who decided. `None` if no person did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<&'a str>,
    /// Name of the operator who decided, if the channel knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<&'a str>,
    /// The parameters. Secrets are masked and long values are shortened.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "bounded::value")]
    pub params: Option<Value>,
    /// The step of a confirmation that the event represents. It is only used for metrics, because other fields describe
    /// it in the log.
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
    /// The outcome again, under the name used for gatekeeper events (REQ-GATE-09).
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
}

/// Writes the audit log of one adapter.
pub struct Audit {
    /// Name of the adapter.
    pub adapter: String,
    /// Trust level of the adapter.
    pub trust: TrustLevel,
    /// The clock.
    pub time: TimeSource,
    /// Destinations of the lines.
    pub sinks: Vec<Arc<dyn AuditSink>>,
    /// Observers of the events. They receive no events of calls allowed without a confirmation, because only a log
    /// needs those.
    pub observers: Vec<Arc<dyn AuditObserver>>,
}

impl Audit {
    /// Returns `true` if the log has a reader: a sink, or a subscriber for its target.
    pub(crate) fn is_read(&self) -> bool {
        !self.sinks.is_empty() || tracing::enabled!(target: TARGET, tracing::Level::INFO)
    }

    /// Reopens all destinations.
    pub(crate) fn reopen(&self) {
        self.sinks.iter().for_each(|sink| sink.reopen());
    }

    /// Returns `true` if an event has a receiver.
    pub(crate) fn is_used(&self) -> bool {
        self.observers.iter().any(|observer| observer.is_active()) || self.is_read()
    }

    /// Passes an entry to the observers, and appends its line to all destinations.
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
        // A person may read the log in a terminal, so characters that change the direction of writing are escaped too.
        let line = mcp_aql_text::visible_json(&line);
        tracing::info!(target: TARGET, entry = %line);
        for sink in &self.sinks {
            if let Err(error) = sink.append(&line).await {
                tracing::error!(%error, entry = %line, "cannot write to the audit log");
            }
        }
    }
}

/// The collection of the store for the audit log.
pub(crate) const COLLECTION: &str = "audit";

/// Writes audit entries to the adapter's store, under keys that sort by time.
pub(crate) struct AuditStore {
    store: Arc<MonitoredStore>,
    ready: Arc<Ready>,
    time: TimeSource,
    /// How long entries are kept. `None` keeps them forever.
    keep: Option<TimeDelta>,
    /// Time of the last purge of expired records.
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

    /// Returns `true` if a purge of expired entries is due. In that case, records the time of this purge.
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
        // Control characters, and characters that change the direction of writing or are invisible.
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
