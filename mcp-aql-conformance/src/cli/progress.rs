//! What is told while the run works: one line, rewritten, where somebody looks at it.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_aql_conformance::Progress;

use super::output::plain;

/// The line is not written anew more often than this.
const AT_MOST_EVERY: Duration = Duration::from_millis(50);

/// Shows how it is going on standard error, if that is a terminal.
pub(crate) struct Watch {
    is_seen: bool,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    about: String,
    last: Option<Instant>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self { is_seen: std::io::stderr().is_terminal(), shown: Mutex::default() }
    }

    /// Shows what is done now.
    pub(crate) fn tell(&self, progress: Progress) {
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
                let is_due = shown.last.is_none_or(|last| last.elapsed() >= AT_MOST_EVERY);
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

    /// Leaves an empty line.
    pub(crate) fn end(&self) {
        if self.is_seen {
            rewrite("");
        }
    }
}

/// Takes the line of a run away that did not come to its end.
pub(crate) fn clear() {
    if std::io::stderr().is_terminal() {
        rewrite("");
    }
}

fn rewrite(line: &str) {
    let mut stderr = std::io::stderr().lock();
    // Nobody looks when this fails.
    let _ = write!(stderr, "\r\x1b[2K{line}");
    let _ = stderr.flush();
}
