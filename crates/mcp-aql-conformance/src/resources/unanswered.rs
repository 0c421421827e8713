//! Tracks calls without a reply, because they may have created items.

use serde_json::Value;

use super::Resources;
use super::ledger::is_dry;
use crate::sync::lock;

/// A call that waits for its reply. If you drop it before the reply arrives, the call counts as unanswered.
pub(crate) struct ExpectedReply<'r> {
    resources: &'r Resources,
    creating: Vec<String>,
}

impl ExpectedReply<'_> {
    /// Marks the reply as arrived. Call this also if the reason for a missing reply is known.
    pub(crate) fn arrived(mut self) {
        self.creating.clear();
    }
}

impl Drop for ExpectedReply<'_> {
    fn drop(&mut self) {
        if !self.creating.is_empty() {
            self.resources.note_unanswered(&self.creating);
        }
    }
}

impl Resources {
    /// Expects the reply to a call. Without a reply, the call may nevertheless have created items.
    pub(crate) fn expect_reply(&self, arguments: &Value) -> ExpectedReply<'_> {
        ExpectedReply { resources: self, creating: self.creating(arguments) }
    }

    /// Returns the CREATE operations of a call, one entry for each item.
    pub(super) fn creating(&self, arguments: &Value) -> Vec<String> {
        let asked = arguments.get("operations").and_then(Value::as_array);
        let each = asked.map_or(std::slice::from_ref(arguments), Vec::as_slice).iter();
        let others = lock(&self.others);
        let creates = |operation: &str| {
            others.contains_key(operation) || self.kinds.iter().any(|kind| kind.create == operation)
        };
        each.filter(|arguments| !is_dry(arguments))
            .filter_map(|arguments| arguments.get("operation")?.as_str())
            .filter(|operation| creates(operation))
            .map(str::to_owned)
            .collect()
    }

    pub(super) fn note_unanswered(&self, creating: &[String]) {
        let mut unanswered = lock(&self.unanswered);
        for operation in creating {
            *unanswered.entry(operation.clone()).or_default() += 1;
        }
    }

    /// Returns the CREATE operations that did not reply, with the number of calls.
    pub(crate) fn unanswered(&self) -> Vec<(String, usize)> {
        lock(&self.unanswered)
            .iter()
            .map(|(operation, calls)| (operation.clone(), *calls))
            .collect()
    }
}
