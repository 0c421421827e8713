//! The progress line on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_aql_conformance::Progress;

use super::output::plain;

/// Minimum interval between two updates of the line.
const UPDATE_INTERVAL: Duration = Duration::from_millis(50);

/// Shows the progress on standard error, but only on a terminal.
pub(crate) struct ProgressLine {
    is_seen: bool,
    shown: Mutex<LineState>,
}

#[derive(Default)]
struct LineState {
    about: String,
    last: Option<Instant>,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        Self { is_seen: std::io::stderr().is_terminal(), shown: Mutex::default() }
    }

    /// Shows a step of the run.
    pub(crate) fn show(&self, progress: Progress) {
        if !self.is_seen {
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let line = match progress {
            Progress::Learned { name, mode, operations } => {
                let name: String = plain(&name).chars().take(30).collect();
                shown.about = format!("{name}, {mode} mode");
                format!("{}: {operations} operations", shown.about)
            }
            Progress::Checked { check, done, total } => {
                let is_due = shown.last.is_none_or(|last| last.elapsed() >= UPDATE_INTERVAL);
                if !is_due && done < total {
                    return;
                }
                format!("{}: {done}/{total} {check}", shown.about)
            }
            _ => return,
        };
        shown.last = Some(Instant::now());
        rewrite(&line);
    }

    /// Clears the line.
    pub(crate) fn end(&self) {
        if self.is_seen {
            rewrite("");
        }
    }
}

/// Clears the line of an interrupted run.
pub(crate) fn clear() {
    if std::io::stderr().is_terminal() {
        rewrite("");
    }
}

fn rewrite(line: &str) {
    let mut stderr = std::io::stderr().lock();
    // Ignore a failed write, because the line is only informative.
    let _ = write!(stderr, "\r\x1b[2K{line}");
    let _ = stderr.flush();
}
