//! The audit log: who asked for what, what the gates decided and why, as JSON lines.
//!
//! Every entry is a `tracing` event of the target [`TARGET`] whose field `entry` is one line of JSON,
//! and a line in each [`AuditSink`]. Secrets, and parameters that are marked `sensitive`, are masked
//! before they come here.
//!
//! Source: REQ-GATE-09, REQ-DNG-09, REQ-TOK-16.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use serde_json::Value;

use crate::clock::TimeSource;
use crate::gatekeeper::later;
use crate::operation::BoxFuture;
use crate::services::Ready;
use crate::store::{Change, Expected, NewRecord, Store, StoreError};
use crate::vocab::TrustLevel;

/// The target of the audit log's `tracing` events.
pub const TARGET: &str = "mcp_aql::audit";

/// Where the audit log's lines go besides `tracing`.
pub trait AuditSink: Send + Sync + 'static {
    /// Appends a line, which ends without a line break.
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>>;
}

impl<S: AuditSink + ?Sized> AuditSink for Arc<S> {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        (**self).append(line)
    }
}

/// What happened, in the words of the log. What does not apply is left out.
#[derive(Debug, Default, Serialize)]
pub(crate) struct AuditEntry<'a> {
    /// `OPERATION_DENIED`, `TOKEN_ISSUED`, …
    pub(crate) event: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) endpoint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) danger_level: Option<u8>,
    /// `allowed`, `denied`, `confirmed` and, of tokens and challenges, what became of them.
    pub(crate) outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) execution_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) challenge_id: Option<&'a str>,
    /// Who decided, where a person did: the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) decided_by: Option<&'a str>,
    /// Secrets are masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) params: Option<Value>,
}

#[derive(Serialize)]
struct Line<'a> {
    timestamp: String,
    adapter_name: &'a str,
    adapter_trust: TrustLevel,
    #[serde(flatten)]
    entry: &'a AuditEntry<'a>,
    /// The gatekeeper's word for the outcome (REQ-GATE-09).
    result: &'a str,
}

/// Writes the audit log of one adapter.
pub(crate) struct Audit {
    pub(crate) adapter: String,
    pub(crate) trust: TrustLevel,
    pub(crate) time: TimeSource,
    pub(crate) sinks: Vec<Arc<dyn AuditSink>>,
}

impl Audit {
    /// Whether anybody reads it.
    pub(crate) fn is_read(&self) -> bool {
        !self.sinks.is_empty() || tracing::enabled!(target: TARGET, tracing::Level::INFO)
    }

    /// Appends an entry.
    pub(crate) async fn record(&self, entry: &AuditEntry<'_>) {
        if !self.is_read() {
            return;
        }
        let line = Line {
            timestamp: crate::clock::text(self.time.now()),
            adapter_name: &self.adapter,
            adapter_trust: self.trust,
            entry,
            result: entry.outcome,
        };
        let line = match serde_json::to_string(&line) {
            Ok(line) => line,
            Err(error) => return tracing::error!(%error, "an audit entry cannot be written"),
        };
        tracing::info!(target: TARGET, entry = %line);
        for sink in &self.sinks {
            if let Err(error) = sink.append(&line).await {
                tracing::error!(%error, entry = %line, "the audit log cannot be written");
            }
        }
    }
}

/// A file that only grows.
pub(crate) struct AuditFile(Mutex<File>);

impl AuditFile {
    /// Opens the file, or makes one that only its owner reads.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).map(|file| Self(Mutex::new(file)))
    }
}

impl AuditSink for AuditFile {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        // One write, so that lines of several processes do not mix.
        let line = format!("{line}\n");
        let written =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
        Box::pin(std::future::ready(written))
    }
}

/// The collection of the store that holds the audit log.
pub(crate) const COLLECTION: &str = "audit";

/// The adapter's store; entries are listed in the order of their keys.
pub(crate) struct AuditStore {
    store: Arc<dyn Store>,
    ready: Arc<Ready>,
    time: TimeSource,
    /// How long it keeps them.
    keep: Option<TimeDelta>,
    /// When the store was last told to forget.
    purged: Mutex<Option<DateTime<Utc>>>,
}

impl AuditStore {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        ready: Arc<Ready>,
        time: TimeSource,
        keep: Option<TimeDelta>,
    ) -> Self {
        Self { store, ready, time, keep, purged: Mutex::default() }
    }

    async fn write(&self, line: &str, now: DateTime<Utc>) -> Result<(), StoreError> {
        // An entry may be the first that is ever written.
        self.ready.get_or_try_init(|| self.store.prepare()).await?;
        let micros = now.timestamp_micros();
        let key = format!("{micros:020}-{}", uuid::Uuid::new_v4().simple());
        let mut record = NewRecord::new(line);
        record.expires_at = self.keep.map(|keep| later(now, keep));
        self.store.write(vec![Change::put(COLLECTION, key, Expected::Absent, record)]).await?;
        if self.is_due(now) {
            self.store.purge(now).await?;
        }
        Ok(())
    }

    /// Whether it is time to forget entries.
    fn is_due(&self, now: DateTime<Utc>) -> bool {
        const PURGE: TimeDelta = TimeDelta::minutes(10);
        let mut purged = self.purged.lock().unwrap_or_else(PoisonError::into_inner);
        let due =
            self.keep.is_some() && purged.is_none_or(|at| at > now || later(at, PURGE) <= now);
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

    #[tokio::test]
    async fn an_entry_is_one_line_with_what_happened() {
        // REQ-GATE-09, REQ-DNG-09, REQ-DNG-15
        let folder = std::env::temp_dir().join(crate::vocab::new_id("audit"));
        let file = AuditFile::open(&folder).unwrap();
        let at = "2031-05-06T07:00:00Z".parse().unwrap();
        let audit = Audit {
            adapter: "beds".to_owned(),
            trust: TrustLevel::Validated,
            time: TimeSource::new(move || at),
            sinks: vec![Arc::new(file)],
        };
        for outcome in ["denied", "allowed"] {
            let entry = AuditEntry {
                event: "OPERATION_DENIED",
                operation: Some("delete_bed"),
                endpoint: Some("delete"),
                danger_level: Some(2),
                outcome,
                reason: Some("line\nbreak"),
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
            })
        );
    }
}
