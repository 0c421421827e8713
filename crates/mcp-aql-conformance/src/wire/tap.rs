//! Records statistics of all messages from the adapter.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::Value;

use super::trace::{Trace, TraceDirection};
use crate::category::Mode;
use crate::secrets::Secrets;
use crate::sync::lock;

/// Maximum number of kept samples of each kind. All messages are counted.
const MAX_SAMPLES: usize = 5;
/// Maximum length of a sample, in characters.
const MAX_SAMPLE_CHARS: usize = 300;

/// Records every message of all connections of a run.
#[derive(Debug, Default)]
pub struct Tap {
    seen: Mutex<MessageStatistics>,
    secrets: Arc<Secrets>,
    trace: Option<Arc<Trace>>,
    mode: OnceLock<Mode>,
    connections: AtomicU64,
    /// Operations with at least one successful call.
    called: Mutex<BTreeSet<String>>,
}

/// The recorded statistics.
#[derive(Debug, Default, Clone)]
pub(crate) struct MessageStatistics {
    /// Number of messages.
    pub(crate) messages: usize,
    /// Length of the longest message, in bytes.
    pub(crate) longest: usize,
    /// Messages other than JSON objects in UTF-8.
    pub(crate) invalid: Samples,
    /// Responses to unknown or already answered requests.
    pub(crate) unexpected: Samples,
    /// Messages without `jsonrpc: "2.0"`, or with both or neither of `result` and `error`.
    pub(crate) nonconforming: Samples,
    /// Strings that expose internals of the program.
    pub(crate) leaks: Samples,
}

/// A counter that keeps its first distinct samples.
#[derive(Debug, Default, Clone)]
pub(crate) struct Samples {
    pub(crate) count: usize,
    pub(crate) first: Vec<String>,
}

impl Samples {
    pub(crate) fn add(&mut self, sample: &str) {
        self.count += 1;
        if self.first.len() < MAX_SAMPLES {
            let sample = sample.chars().take(MAX_SAMPLE_CHARS).collect();
            if !self.first.contains(&sample) {
                self.first.push(sample);
            }
        }
    }
}

impl Tap {
    /// Creates statistics that mask these secrets in samples. Messages are also written to the trace.
    pub(crate) fn new(secrets: Arc<Secrets>, trace: Option<Arc<Trace>>) -> Self {
        Self { secrets, trace, ..Self::default() }
    }

    /// Sets the mode of further messages in the trace.
    pub(crate) fn set_mode(&self, mode: Mode) {
        let _ = self.mode.set(mode);
    }

    /// Returns the number of the next connection, starting at 1.
    pub(super) fn next_connection(&self) -> u64 {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Writes a message to the trace, if there is one.
    pub(super) fn trace(&self, connection: u64, direction: TraceDirection, bytes: &[u8]) {
        if let Some(trace) = &self.trace {
            let mode = self.mode.get().copied();
            trace.write(connection, mode, direction, bytes, &self.secrets);
        }
    }

    /// Records that a call of an operation succeeded.
    pub(crate) fn note_call(&self, operation: &str) {
        let mut called = lock(&self.called);
        if !called.contains(operation) {
            called.insert(operation.to_owned());
        }
    }

    /// Returns the operations with at least one successful call.
    pub(crate) fn called(&self) -> BTreeSet<String> {
        lock(&self.called).clone()
    }

    /// Returns the secrets that samples must not contain.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns the statistics so far.
    pub(crate) fn seen(&self) -> MessageStatistics {
        self.lock().clone()
    }

    pub(crate) fn invalid(&self, text: &[u8]) {
        self.lock().invalid.add(&self.secrets.masked(&String::from_utf8_lossy(text)));
    }

    pub(crate) fn unexpected(&self, message: &Value) {
        self.lock().unexpected.add(&self.secrets.masked(&message.to_string()));
    }

    pub(crate) fn message(&self, text: &[u8], message: &Value) {
        let is_2_0 = message.get("jsonrpc").is_some_and(|version| version == "2.0");
        let parts = [message.get("result"), message.get("error")];
        let answers = parts.iter().flatten().count();
        let is_one_thing = match message.get("method") {
            Some(method) => method.is_string() && answers == 0,
            None => answers == 1,
        };
        let leak = crate::leaks::leak(message);
        let mut seen = self.lock();
        seen.messages += 1;
        seen.longest = seen.longest.max(text.len());
        if !is_2_0 || !is_one_thing {
            seen.nonconforming.add(&self.secrets.masked(&message.to_string()));
        }
        if let Some(leak) = leak {
            seen.leaks.add(&self.secrets.masked(&leak));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, MessageStatistics> {
        lock(&self.seen)
    }
}
