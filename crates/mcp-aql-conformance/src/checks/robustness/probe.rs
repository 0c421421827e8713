//! A connection for invalid messages. It is replaced when it breaks.

use std::time::Duration;

use serde_json::{Value, json};

use crate::call::Reply;
use crate::cases::{Cases, Finding};
use crate::run::Run;
use crate::wire::{Answer, Connection, NoResponse};

/// Time limit for the reply to an invalid message.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends the messages of a check on its own connection, and replaces the connection when it breaks.
pub(super) struct Probe<'a> {
    pub(super) run: &'a Run,
    pub(super) cases: &'a Cases,
    pub(super) connection: Option<Connection>,
    /// Another check that already reports the cause, and its reason. Accepted requests are then not reported again.
    pub(super) known: Option<(&'static str, &'static str)>,
}

impl<'a> Probe<'a> {
    pub(super) fn new(run: &'a Run, cases: &'a Cases) -> Self {
        Self { run, cases, connection: None, known: None }
    }

    /// Returns the connection. Skips the case if none can be opened.
    pub(super) async fn connection(&mut self) -> Option<&Connection> {
        let is_over = self.connection.as_ref().is_none_or(|it| it.ended().is_some());
        if is_over {
            self.connection = self.run.spare(self.cases).await;
        }
        self.connection.as_ref()
    }

    pub(super) fn patience(&self) -> Duration {
        REPLY_TIMEOUT.min(self.run.settings.limits.request)
    }

    /// Checks that the connection still answers an ordinary call.
    ///
    /// Otherwise reports a finding and drops the connection, so the next case opens a new one.
    pub(super) async fn survives(&mut self, sent: &str, fix: &str) {
        let Some(connection) = &self.connection else { return };
        let params = json!({ "operation": "introspect", "params": { "query": "types" } });
        let call = json!({ "name": self.run.adapter.introspect, "arguments": params });
        let patience = self.patience();
        let pacer = &self.run.pacer;
        let answer =
            pacer.answer(|| connection.request_within("tools/call", &call, patience)).await;
        let Some(answer) = self.cases.ok_or_skip(answer) else { return };
        let is_well = matches!(answer, Answer::Result(_));
        self.cases.expect(is_well, || {
            Finding::shown(shortened(sent), reply_value(&answer))
                .expected("a reply to the following call of `introspect`")
                .fix(fix)
                .sent(json!(shortened(sent)))
        });
        if !is_well {
            self.connection = None;
        }
    }

    /// Sends a request that must be rejected: by a JSON-RPC error, by a result with `isError`, or by a failure.
    pub(super) async fn refuses(&mut self, method: &str, params: &str, what: &str, fix: &str) {
        let Some((message, answer)) = self.send(method, params).await else { return };
        self.judge(&message, &answer, what, fix).await;
    }

    /// Sends a request. Returns it with the answer.
    async fn send(&mut self, method: &str, params: &str) -> Option<(String, Answer)> {
        let (patience, pacer) = (self.patience(), &self.run.pacer);
        let connection = self.connection().await?;
        let id = connection.next_id();
        let message = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}"
        );
        let (id, bytes) = (json!(id), message.as_bytes());
        let answer = pacer.answer(|| connection.exchange(&id, bytes.to_vec(), patience)).await;
        let answer = self.cases.ok_or_skip(answer)?;
        Some((message, answer))
    }

    /// Expects that a request was rejected and that the connection still answers.
    async fn judge(&mut self, message: &str, answer: &Answer, what: &str, fix: &str) {
        let is_refused = match answer {
            // An HTTP server may reject the request before it parses the body.
            Answer::NoResponse(lost) => matches!(lost, NoResponse::Status(400..=499)),
            Answer::Error { .. } | Answer::Result(_) => Reply::from(answer.clone()).is_rejection(),
        };
        match self.known.filter(|_| !is_refused) {
            Some((by, why)) => self.cases.block(by, why),
            None => {
                self.cases.expect(is_refused, || {
                    Finding::shown(what, reply_value(answer))
                        .expected("a failure or an error")
                        .fix(fix)
                        .sent(json!(shortened(message)))
                });
            }
        }
        if matches!(answer, Answer::NoResponse(NoResponse::TimedOut(_))) {
            self.connection = None;
            return;
        }
        self.survives(message, fix).await;
    }

    /// Returns the connection to the run for other checks.
    pub(super) fn close(self) {
        if let Some(connection) = self.connection {
            self.run.give_back(connection);
        }
    }
}

/// Shortens a message for the report.
fn shortened(message: &str) -> String {
    let mut text: String = message.chars().take(200).collect();
    if text.len() < message.len() {
        text.push_str(&format!("… ({} bytes)", message.len()));
    }
    text
}

/// Returns the reply in the form used by reports.
pub(super) fn reply_value(answer: &Answer) -> Value {
    match answer {
        Answer::Result(result) => result.clone(),
        Answer::Error { raw, .. } => json!({ "error": raw }),
        Answer::NoResponse(lost) => json!(lost.to_string()),
    }
}
