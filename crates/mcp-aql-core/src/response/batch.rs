//! Builds the reply to a batch.

use mcp_aql_protocol::SizeLimits;
use serde_json::{Value, json};

use super::Reply;
use super::reply::push_warnings;
use crate::error::warning::Warning;
use crate::request::{InvalidRequest, Request, too_large};

/// The reply to a batch. Add the results in order, then call [`finish`](Self::finish) or [`halt`](Self::halt):
///
/// ```json
/// {
///   "success": true, "data": null,
///   "results": [{ "index": 0, "operation": "get_task", "result": { "success": true, "data": {} } }],
///   "summary": { "total": 1, "succeeded": 1, "failed": 0 }
/// }
/// ```
///
/// Source: operations §7.2 (REQ-BAT-02 to REQ-BAT-05).
#[derive(Debug)]
pub(crate) struct BatchReply {
    text: String,
    succeeded: usize,
    failed: usize,
    max_size: usize,
    /// Budget of all pages together, in bytes.
    budget: usize,
    /// Number of remaining items.
    left: usize,
    full: bool,
}

/// Reserved size for the error of an item that did not run, in bytes.
const NOT_RUN_BYTES: usize = 640;
/// Reserved size for the summary and the warnings, in bytes.
const REST_BYTES: usize = 4_096;

impl BatchReply {
    pub(crate) fn new(limits: &SizeLimits, items: usize) -> Self {
        let (max_size, budget) = (limits.max_response_size, limits.result_budget);
        let text = String::from(r#"{"success":true,"data":null,"results":["#);
        Self { text, succeeded: 0, failed: 0, max_size, budget, left: items, full: false }
    }

    /// Returns `true` if another result does not fit into the reply. Later items are not run.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the available size for the reply of the next item, in bytes.
    pub(crate) fn remaining_bytes(&self) -> usize {
        let reserve = self.left.saturating_mul(NOT_RUN_BYTES).saturating_add(REST_BYTES);
        self.max_size.saturating_sub(self.text.len()).saturating_sub(reserve)
    }

    /// Returns the budget of the next item in bytes: an equal share of the remaining budget.
    pub(crate) fn budget(&self) -> usize {
        self.budget.saturating_sub(self.text.len()) / self.left.max(1)
    }

    /// Adds the result of the next item. A result that does not fit is replaced by an error.
    pub(crate) fn push(&mut self, operation: &str, reply: &Reply) {
        if reply.text.len() > self.remaining_bytes() {
            self.full = true;
            let size = self.text.len().saturating_add(reply.text.len());
            let error = too_large("response_size", self.max_size, size, "bytes")
                .with_detail("operation_ran", true);
            self.item(operation, &Reply::failure(&error));
        } else {
            self.item(operation, reply);
        }
    }

    /// Adds an item that did not run because the reply is full.
    pub(crate) fn push_not_run(&mut self, operation: &str) {
        let error = too_large("response_size", self.max_size, self.max_size, "bytes")
            .with_detail("operation_ran", false);
        self.item(operation, &Reply::failure(&error));
    }

    fn item(&mut self, operation: &str, reply: &Reply) {
        let index = self.succeeded + self.failed;
        self.left = self.left.saturating_sub(1);
        let separator = if index == 0 { "" } else { "," };
        let operation = serde_json::Value::from(operation);
        self.text.push_str(&format!(
            r#"{separator}{{"index":{index},"operation":{operation},"result":"#
        ));
        self.text.push_str(&reply.text);
        self.text.push('}');
        match reply.code {
            None => self.succeeded += 1,
            Some(_) => self.failed += 1,
        }
    }

    /// Completes the reply before an item that requires confirmation.
    ///
    /// This item and the later ones did not run, but they did not fail either. Such a reply has no warnings
    /// (REQ-BAT-08 to REQ-BAT-10, choice C-39). The reply then has these members in addition to `results`:
    ///
    /// ```json
    /// {
    ///   "halted_at": { "index": 0, "operation": "delete_task", "result": { "success": false, "error": {} } },
    ///   "pending_operations": [{ "index": 1, "operation": "get_task", "params": { "task_id": "t-2" } }],
    ///   "summary": { "total": 2, "succeeded": 0, "failed": 0, "halted": 1, "pending": 1 }
    /// }
    /// ```
    pub(crate) fn halt(
        mut self,
        operation: &str,
        reply: &Reply,
        rest: impl Iterator<Item = Result<Request<'static>, InvalidRequest>>,
    ) -> Reply {
        let (succeeded, failed) = (self.succeeded, self.failed);
        let halted = succeeded + failed;
        let name = Value::from(operation);
        self.text.push_str(&format!(
            r#"],"halted_at":{{"index":{halted},"operation":{name},"result":{}}}"#,
            reply.text
        ));
        let mut pending = Vec::new();
        for (place, item) in (halted + 1..).zip(rest) {
            let (operation, params) = match item {
                Ok(mut input) => {
                    let operation = std::mem::take(&mut input.operation).into_owned();
                    (operation, input.into_params().into())
                }
                Err(refused) if refused.altered => {
                    // Some values of this item differ from those of the caller. It is therefore returned without an
                    // operation, so that it is rejected again if the caller sends it back unchanged.
                    pending.push(json!({
                        "index": place, "operation": "", "params": {}, "error": refused.error,
                    }));
                    continue;
                }
                Err(refused) => (refused.operation, refused.params),
            };
            pending.push(json!({ "index": place, "operation": operation, "params": params }));
        }
        let count = pending.len();
        let total = halted + 1 + count;
        let pending = Value::from(pending).to_string();
        let summary = format!(
            r#","summary":{{"total":{total},"succeeded":{succeeded},"failed":{failed},"halted":1,"pending":{count}}}}}"#
        );
        // The list may be omitted: the caller has these items, and `summary` has their number.
        if self.text.len() + pending.len() + summary.len() + REST_BYTES <= self.max_size {
            self.text.push_str(&format!(r#","pending_operations":{pending}"#));
        }
        self.text.push_str(&summary);
        Reply::plain(self.text, None)
    }

    /// Completes the reply. The warnings of all items are at its top level (REQ-WRN-11).
    pub(crate) fn finish(mut self, warnings: &[Warning]) -> Reply {
        let (succeeded, failed) = (self.succeeded, self.failed);
        let total = succeeded + failed;
        self.text.push_str(&format!(
            r#"],"summary":{{"total":{total},"succeeded":{succeeded},"failed":{failed}}}"#
        ));
        let before = self.text.len();
        push_warnings(&mut self.text, warnings);
        if self.text.len() >= self.max_size {
            self.text.truncate(before);
            let cut = Warning::truncated("warnings", warnings.len(), 0, 0);
            push_warnings(&mut self.text, &[cut]);
        }
        self.text.push('}');
        Reply::plain(self.text, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::OperationError;
    use crate::operation::Payload;

    fn limits(max_response_size: usize) -> SizeLimits {
        SizeLimits { max_response_size, ..SizeLimits::default() }
    }

    fn success(data: &str) -> Reply {
        Reply::success(Payload::new(format!("{}{data}", crate::operation::SUCCESS)), &[])
    }

    #[test]
    fn the_reply_has_the_protocols_form() {
        // REQ-BAT-03 to REQ-BAT-05
        let mut batch = BatchReply::new(&limits(1 << 20), 2);
        batch.push("get_task", &success("1"));
        batch.push("a\"b", &Reply::failure(&OperationError::not_found("task", "t")));
        let value: Value = serde_json::from_str(&batch.finish(&[]).text).unwrap();
        assert_eq!(value["success"], true);
        assert_eq!(value["data"], Value::Null);
        assert_eq!(
            value["results"][0],
            json!({"index": 0, "operation": "get_task", "result": {"success": true, "data": 1}})
        );
        assert_eq!(value["results"][1]["operation"], "a\"b");
        assert_eq!(value["results"][1]["result"]["error"]["code"], "NOT_FOUND_RESOURCE");
        assert_eq!(value["summary"], json!({"total": 2, "succeeded": 1, "failed": 1}));
    }

    #[test]
    fn a_full_reply_says_what_ran_and_what_did_not() {
        // REQ-ENC-09, REQ-BAT-02
        let mut batch = BatchReply::new(&limits(100_000), 100);
        batch.push("a", &success("1"));
        batch.push("b", &success(&format!("\"{}\"", "x".repeat(90_000))));
        assert!(batch.is_full());
        for _ in 2..100 {
            batch.push_not_run(&"c".repeat(64));
        }
        let warning = Warning::new("VALIDATION_A", "w".repeat(100_000));
        let reply = batch.finish(&[warning]);
        assert!(reply.text.len() <= 100_000, "{}", reply.text.len());
        let value: Value = serde_json::from_str(&reply.text).unwrap();
        for (index, ran) in [(1, true), (2, false)] {
            let error = &value["results"][index]["result"]["error"];
            assert_eq!(error["code"], "VALIDATION_PAYLOAD_TOO_LARGE");
            assert_eq!(error["details"]["operation_ran"], ran);
        }
    }
}
