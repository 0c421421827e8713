//! Reports about the process on standard error: plain lines for people, or JSON lines if the log has this format.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// The log target of these lines.
pub(super) const PROCESS: &str = "mcp_aql::process";

/// `true` if the log has JSON lines. In this case, a program reads standard error.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Switches the reports to JSON lines.
pub(super) fn use_json_lines() {
    IS_JSON.store(true, Ordering::Relaxed);
}

/// Returns `true` if standard error must contain JSON lines only.
pub(super) fn has_json_lines() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Reports something to the person or program that started this process. Use it instead of `eprintln!`, so that you
/// never break a JSON log.
pub(super) fn announce(message: &str) {
    if has_json_lines() {
        tracing::info!(target: PROCESS, "{message}");
    } else {
        // The process that reads standard error may have ended.
        let _ = writeln!(std::io::stderr(), "{message}");
    }
}

/// Adds a line to a JSON log. It is left out on a terminal, because it is of no interest to people.
pub(super) fn log_state(message: &str) {
    if has_json_lines() {
        tracing::info!(target: PROCESS, "{message}");
    }
}
