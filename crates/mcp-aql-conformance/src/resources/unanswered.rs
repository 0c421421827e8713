//! Calls without a reply, which may have created items.

use serde_json::Value;

use super::Resources;
use super::ledger::is_dry;
use crate::sync::lock;

/// A call whose reply has not arrived. If this is dropped before, the call counts as unanswered.
pub(crate) struct ExpectedReply<'r> {
    resources: &'r Resources,
    creating: Vec<String>,
}

impl ExpectedReply<'_> {
    /// The reply arrived, or the reason why there is none is known.
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
    /// Expects the reply to a call. If it does not arrive, the call may have created items nevertheless.
    pub(crate) fn expect_reply(&self, arguments: &Value) -> ExpectedReply<'_> {
        ExpectedReply { resources: self, creating: self.creating(arguments) }
    }

    /// The CREATE operations of a call, once for each item.
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

    /// CREATE operations that did not reply, with the number of calls.
    pub(crate) fn unanswered(&self) -> Vec<(String, usize)> {
        lock(&self.unanswered)
            .iter()
            .map(|(operation, calls)| (operation.clone(), *calls))
            .collect()
    }
}
