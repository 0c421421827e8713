//! Everything that reports calls: events, traces, the audit log, log lines.

pub mod audit;
pub(crate) mod call_event;
pub(crate) mod call_tracer;
pub(crate) mod logging;
pub(crate) mod observers;
pub(crate) mod recorder;
pub(crate) mod redact;
