//! The trace of a run: every message as a line of JSON.

use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::category::Mode;
use crate::secrets::Secrets;

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the runner to the adapter.
    Sent,
    /// From the adapter to the runner.
    Received,
}

/// Writes messages as lines of JSON. The first failed write ends the trace.
pub(crate) struct Trace(Mutex<Option<Box<dyn Write + Send>>>);

impl fmt::Debug for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Trace").finish_non_exhaustive()
    }
}

impl Trace {
    pub(crate) fn new(writer: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Some(Box::new(writer))))
    }

    /// Writes a message. Bytes that are not JSON are written as `text`.
    pub(super) fn write(
        &self,
        connection: u64,
        mode: Option<Mode>,
        direction: Direction,
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
                Direction::Sent => "sent",
                Direction::Received => "received",
            },
            name: content,
        });
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_written = writer.as_mut().is_none_or(|writer| writeln!(writer, "{line}").is_ok());
        if !is_written {
            *writer = None;
        }
    }
}
