//! The reports of a command on standard error about its process: text for people, and lines of the log if that is JSON.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// The log target of these lines.
pub(super) const PROCESS: &str = "mcp_aql::process";

/// Whether the log of this process has JSON lines, so that a program reads standard error.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Switches from text to lines of the log.
pub(super) fn use_json_lines() {
    IS_JSON.store(true, Ordering::Relaxed);
}

/// Whether standard error has JSON lines only.
pub(super) fn has_json_lines() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Reports something to the person or the program that started the process.
pub(super) fn announce(message: &str) {
    if has_json_lines() {
        tracing::info!(target: PROCESS, "{message}");
    } else {
        // The reader of standard error may have ended.
        let _ = writeln!(std::io::stderr(), "{message}");
    }
}

/// Adds a line to a log in JSON, which people do not read.
pub(super) fn log_state(message: &str) {
    if has_json_lines() {
        tracing::info!(target: PROCESS, "{message}");
    }
}
