//! The audit log: who asked for what, what the gates decided and why, as JSON lines.
//!
//! Every entry is a `tracing` event of the target [`TARGET`] whose field `entry` is one line of JSON,
//! and a line in each [`AuditSink`]. Secrets, and parameters that are marked `sensitive`, are masked
//! before they come here.
//!
//! Source: REQ-GATE-09, REQ-DNG-09, REQ-TOK-16.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use chrono::{DateTime, TimeDelta, Utc};
use mcp_aql_protocol::TrustLevel;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::clock::TimeSource;
use crate::clock::later;
use crate::future::BoxFuture;
use crate::store::Ready;
use crate::store::{Change, Expected, NewRecord, Store, StoreError};
use crate::sync::lock;

/// The outcomes that REQ-GATE-09 knows.
const GATE_RESULTS: [&str; 3] = ["allowed", "denied", "confirmed"];

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
    /// `allowed`, `denied` or `confirmed` for gates, `success` or `failure` for tokens, and the result of a
    /// challenge.
    pub(crate) outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
    /// The error code for which a token was rejected (REQ-TOK-16).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure_reason: Option<&'a str>,
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
struct Whole<'a> {
    timestamp: String,
    adapter_name: &'a str,
    adapter_trust: TrustLevel,
    #[serde(flatten)]
    entry: &'a AuditEntry<'a>,
    /// The outcome again, under the name that gatekeeper events have for it (REQ-GATE-09).
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
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
        let line = Whole {
            timestamp: crate::clock::text(self.time.now()),
            adapter_name: &self.adapter,
            adapter_trust: self.trust,
            entry,
            result: Some(entry.outcome).filter(|outcome| GATE_RESULTS.contains(outcome)),
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

/// A file that only grows, and a thread that writes it: a disk may be slow, and the threads of the runtime
/// do not wait for it, unless [`MOST_WAITING`](Self::MOST_WAITING) lines do already. An entry counts as
/// written when it is, and not before.
pub(crate) struct AuditFile {
    /// None once it is dropped.
    lines: Option<SyncSender<Line>>,
    thread: Option<JoinHandle<()>>,
}

/// What waits to be written.
struct Line {
    text: String,
    /// Tells how it went, if somebody still wants to know.
    written: oneshot::Sender<io::Result<()>>,
}

impl AuditFile {
    /// So many lines wait for the disk. Whoever has one more waits for room, and keeps a thread of the
    /// runtime until there is some: none is lost, and no more memory is taken.
    const MOST_WAITING: usize = 1_024;

    /// Opens the file, or makes one that only its owner reads.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Self::to(options.open(path)?)
    }

    fn to(file: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, waiting) = sync_channel(Self::MOST_WAITING);
        let thread = std::thread::Builder::new()
            .name("mcp-aql-audit".to_owned())
            .spawn(move || write_all(file, &waiting))?;
        Ok(Self { lines: Some(lines), thread: Some(thread) })
    }
}

/// Writes lines in their order, until the log is dropped and all are written.
fn write_all(mut file: impl Write, waiting: &Receiver<Line>) {
    let mut lost = 0_u64;
    while let Ok(Line { text, written }) = waiting.recv() {
        // One write, so that lines of several processes do not mix. After a failure part of a line may
        // stand there: nothing is to stand behind it.
        let start = if lost > 0 { "\n" } else { "" };
        let outcome = file.write_all(format!("{start}{text}\n").as_bytes());
        match &outcome {
            Ok(()) if lost > 0 => {
                tracing::error!(lost, "the audit log is written again, and lacks entries");
                lost = 0;
            }
            Ok(()) => {}
            Err(_) => lost += 1,
        }
        if let Err(Err(error)) = written.send(outcome) {
            // Whoever asked for it is gone.
            tracing::error!(%error, entry = %text, "the audit log cannot be written");
        }
    }
}

impl AuditSink for AuditFile {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        let ended = || io::Error::other("the thread of the audit log has ended");
        let (written, outcome) = oneshot::channel();
        // Here and not in the future: a caller that gives up does not take its entry along. Where there
        // is no room left, this blocks.
        let sent = match &self.lines {
            Some(lines) => lines.send(Line { text: line.to_owned(), written }).map_err(|_| ended()),
            None => Err(ended()),
        };
        Box::pin(async move {
            sent?;
            outcome.await.map_err(|_| ended())?
        })
    }
}

impl Drop for AuditFile {
    /// What waits is written first.
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the audit log has panicked");
        }
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
        let mut purged = lock(&self.purged);
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
    use std::sync::atomic::{AtomicBool, Ordering};

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

    /// A disk that is full at times, and slow.
    #[derive(Clone, Default)]
    struct Disk {
        text: Arc<Mutex<String>>,
        full: Arc<AtomicBool>,
        /// Held, nothing is written.
        busy: Arc<Mutex<()>>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _waited = self.busy.lock().unwrap();
            let mut text = self.text.lock().unwrap();
            if !self.full.load(Ordering::Relaxed) {
                text.push_str(std::str::from_utf8(bytes).unwrap());
                return Ok(bytes.len());
            }
            // Room for part of a line.
            if text.ends_with('\n') {
                text.push_str(std::str::from_utf8(&bytes[..4]).unwrap());
                return Ok(4);
            }
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_full_disk_is_told_and_spoils_no_other_line() {
        // REQ-GATE-09
        let disk = Disk::default();
        let file = AuditFile::to(disk.clone()).unwrap();
        file.append("first").await.unwrap();
        disk.full.store(true, Ordering::Relaxed);
        let error = file.append("second").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        file.append("third").await.unwrap_err();
        disk.full.store(false, Ordering::Relaxed);
        file.append("fourth").await.unwrap();
        file.append("fifth").await.unwrap();
        assert_eq!(*disk.text.lock().unwrap(), "first\nseco\nfourth\nfifth\n");
    }

    #[tokio::test]
    async fn a_slow_disk_keeps_no_thread_and_loses_nothing() {
        // REQ-GATE-09
        let disk = Disk::default();
        let file = AuditFile::to(disk.clone()).unwrap();
        let busy = disk.busy.lock().unwrap();
        let waits = file.append("0");
        for number in 1..500 {
            // Its caller gives up.
            drop(file.append(&number.to_string()));
        }
        drop(busy);
        waits.await.unwrap();
        drop(file);
        let expected: String = (0..500).map(|number| format!("{number}\n")).collect();
        assert_eq!(*disk.text.lock().unwrap(), expected);
    }
}
