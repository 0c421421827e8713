//! Writes the trace of a run: every message as a line of JSON.

use std::fmt;
use std::io::Write;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::category::Mode;
use crate::secrets::Secrets;
use crate::sync::lock;

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceDirection {
    /// From the runner to the adapter.
    Sent,
    /// From the adapter to the runner.
    Received,
}

/// Writes messages as lines of JSON. The first failed write ends the trace.
///
/// ```json
/// {
///     "time": "2031-05-06T07:08:09.123Z", "connection": 1, "mode": "semantic", "direction": "sent",
///     "message": { "jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {} }
/// }
/// ```
pub(crate) struct Trace(Mutex<TraceState>);

/// The destination of a trace.
enum TraceState {
    Open(Box<dyn Write + Send>),
    Failed(std::io::Error),
}

impl fmt::Debug for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Trace").finish_non_exhaustive()
    }
}

impl Trace {
    pub(crate) fn new(writer: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(TraceState::Open(Box::new(writer))))
    }

    /// Flushes the trace, and returns the error of the first failed write, if any.
    pub(crate) fn error(&self) -> Option<String> {
        let mut state = lock(&self.0);
        if let TraceState::Open(writer) = &mut *state
            && let Err(error) = writer.flush()
        {
            *state = TraceState::Failed(error);
        }
        match &*state {
            TraceState::Open(_) => None,
            TraceState::Failed(error) => Some(error.to_string()),
        }
    }

    /// Writes a message. Invalid JSON is written as a string in the member `text`.
    pub(super) fn write(
        &self,
        connection: u64,
        mode: Option<Mode>,
        direction: TraceDirection,
        bytes: &[u8],
        secrets: &Secrets,
    ) {
        let time = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let (name, content) = match serde_json::from_slice::<Value>(bytes) {
            Ok(mut message) => {
                secrets.mask_value(&mut message);
                ("message", message)
            }
            Err(_) => ("text", secrets.masked(&String::from_utf8_lossy(bytes)).into()),
        };
        let line = json!({
            "time": time,
            "connection": connection,
            "mode": mode.map(Mode::as_str),
            "direction": match direction {
                TraceDirection::Sent => "sent",
                TraceDirection::Received => "received",
            },
            name: content,
        });
        let mut state = lock(&self.0);
        if let TraceState::Open(writer) = &mut *state
            && let Err(error) = writeln!(writer, "{line}")
        {
            *state = TraceState::Failed(error);
        }
    }
}
