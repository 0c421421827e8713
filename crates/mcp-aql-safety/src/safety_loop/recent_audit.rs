//! Keeps the last lines of the audit log in memory, for operators.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use mcp_aql_core::BoxFuture;
use mcp_aql_core::audit::AuditSink;
use mcp_aql_core::internal::util::lock;

/// The maximum number of lines in memory.
const MAX_LINES: usize = 200;

/// The last lines of the audit log.
#[derive(Clone, Default)]
pub(crate) struct RecentAudit(Arc<Mutex<VecDeque<String>>>);

impl RecentAudit {
    /// Returns the entries, from newest to oldest.
    pub(super) fn entries(&self) -> Vec<Value> {
        let lines = lock(&self.0);
        lines.iter().rev().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl AuditSink for RecentAudit {
    fn append<'a>(&'a self, line: &'a str) -> BoxFuture<'a, io::Result<()>> {
        let mut lines = lock(&self.0);
        if lines.len() >= MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
        drop(lines);
        Box::pin(std::future::ready(Ok(())))
    }
}
