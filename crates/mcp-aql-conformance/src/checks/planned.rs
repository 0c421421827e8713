//! Checks that are data: calls with one change each, and one rule for all replies.
//!
//! Such a check has no function. Its entry in the table of an area names the calls and the rule:
//!
//! ```text
//! Must 2 "pagination.negative" => Reads { calls: sizes::negative, rule: rejected }, ["REQ-RQ-07"],
//!     "Negative and fractional page sizes are rejected",
//!     expected: "VALIDATION_INVALID_VALUE or VALIDATION_INVALID_TYPE",
//!     fix: "accept non-negative integers only";
//! ```

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::calls::{is_refused, valid_with};
use crate::adapter::{Operation, Parameter};
use crate::call::{Exchange, Failure};
use crate::cases::{Cases, Finding, Hints};
use crate::forms::Form;
use crate::run::{Run, arguments, do_all};

/// Plans the calls of a check. Marks it as not applicable if the adapter lacks the feature.
///
/// An async function instead, as in `{ async calls: tampered, rule: rejected }`, may make calls before.
pub(super) type CallPlan = for<'r> fn(&'r Run, &Cases) -> Vec<PlannedCall<'r>>;

/// Judges a reply: `true` if it is right, and `None` if this check does not judge it.
pub(super) type ReplyRule = fn(&CallReply<'_>) -> Option<bool>;

/// The permission that a call needs.
#[derive(Clone, Copy)]
enum CallGate {
    /// The call may succeed, so the run must be allowed to call the operation.
    Permitted,
    /// The adapter must reject the call. It is skipped if an adapter that accepts it could change data.
    Rejected,
}

/// A call that a check makes, and the words that describe it in findings.
pub(super) struct PlannedCall<'r> {
    pub(super) operation: &'r Operation,
    /// The changed parameter, if the operation documents it.
    pub(super) parameter: Option<&'r Parameter>,
    tool: &'r str,
    arguments: Value,
    gate: CallGate,
    subject: String,
    /// Values of the placeholders in the expectation, in addition to those of the operation and its parameter.
    words: Vec<(&'static str, String)>,
    /// Expectation and suggestion instead of those of the check.
    hints: Option<Hints>,
}

impl<'r> PlannedCall<'r> {
    /// Plans a call that may succeed.
    pub(super) fn new(operation: &'r Operation, params: Map<String, Value>) -> Self {
        Self {
            operation,
            parameter: None,
            tool: &operation.tool,
            arguments: arguments(&operation.name, params),
            gate: CallGate::Permitted,
            subject: operation.name.clone(),
            words: Vec::new(),
            hints: None,
        }
    }

    /// Plans a call that the adapter must reject.
    pub(super) fn invalid(operation: &'r Operation, params: Map<String, Value>) -> Self {
        Self { gate: CallGate::Rejected, ..Self::new(operation, params) }
    }

    /// Names the changed parameter. It becomes a part of the subject.
    pub(super) fn of(self, parameter: &'r Parameter) -> Self {
        Self { parameter: Some(parameter), ..self }.about(&parameter.name)
    }

    /// Adds a name to the subject of findings, as in `list_beds: first`, unless it is empty.
    pub(super) fn about(self, name: &str) -> Self {
        let operation = &self.operation.name;
        let subject =
            if name.is_empty() { operation.clone() } else { format!("{operation}: {name}") };
        Self { subject, ..self }
    }

    /// Sends these arguments instead of `operation` and `params`.
    pub(super) fn sending(self, arguments: Value) -> Self {
        Self { arguments, ..self }
    }

    /// Sends the call through this tool instead of the operation's own.
    pub(super) fn through(self, tool: &'r str) -> Self {
        let subject = format!("{} through {tool}", self.operation.name);
        Self { tool, subject, ..self }
    }

    /// Returns the tool of the call.
    pub(super) fn tool(&self) -> &'r str {
        self.tool
    }

    /// Sets the value of a placeholder in the expectation.
    pub(super) fn word(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.words.push((name, value.into()));
        self
    }

    /// Expects something else of this call than of the other ones of the check.
    pub(super) fn hinting(self, hints: Hints) -> Self {
        Self { hints: Some(hints), ..self }
    }

    /// Returns the value of a placeholder.
    pub(super) fn text(&self, name: &str) -> &str {
        let word = self.words.iter().find(|(known, _)| *known == name);
        word.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Replaces the placeholders in an expectation.
    ///
    /// ```text
    /// {operation} → get_bed, {parameter} → bed_id, {type} → string
    /// ```
    fn filled(&self, expected: &str, of_reply: &[(&'static str, String)]) -> String {
        let mut filled = expected.replace("{operation}", &self.operation.name);
        if let Some(parameter) = self.parameter {
            filled = filled.replace("{parameter}", &parameter.name);
            filled = filled.replace("{type}", &parameter.kind);
        }
        for (name, value) in self.words.iter().chain(of_reply) {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        filled
    }

    async fn make(&self, run: &Run, cases: &Cases) -> Option<Exchange> {
        let arguments = self.arguments.clone();
        match self.gate {
            CallGate::Permitted => run.call_as(self.operation, arguments, cases).await,
            CallGate::Rejected => run.refused(self.tool, arguments, cases).await,
        }
    }
}

/// The reply to a planned call.
pub(super) struct CallReply<'a> {
    pub(super) run: &'a Run,
    pub(super) call: &'a PlannedCall<'a>,
    pub(super) reply: &'a Exchange,
    pub(super) cases: &'a Cases,
    /// Values of placeholders that the rule found in the reply.
    words: RefCell<Vec<(&'static str, String)>>,
}

impl<'a> CallReply<'a> {
    /// Sets the value of a placeholder in the expectation.
    pub(super) fn word(&self, name: &'static str, value: impl Into<String>) {
        self.words.borrow_mut().push((name, value.into()));
    }

    /// Returns the name of the changed parameter.
    pub(super) fn parameter(&self) -> &'a str {
        self.call.parameter.map_or("", |parameter| &parameter.name)
    }

    pub(super) fn code(&self) -> &'a str {
        self.reply.code().unwrap_or_default()
    }

    pub(super) fn failure(&self) -> Option<Failure<'a>> {
        self.reply.failure()
    }

    pub(super) fn data(&self) -> Option<&'a Value> {
        self.reply.data()
    }

    /// Returns `Some` if the call did not fail or its error can be read. Otherwise blocks the case.
    pub(super) fn readable(&self) -> Option<()> {
        self.cases.is_readable(self.reply).then_some(())
    }
}

/// The rule that a call is rejected for its parameters.
pub(super) fn rejected(it: &CallReply<'_>) -> Option<bool> {
    Some(is_refused(it.reply))
}

/// Plans calls with valid parameters extended by the members of one of the objects each. `about` is part of the subject.
pub(super) fn valid_calls<'r>(
    run: &'r Run,
    operations: Vec<&'r Operation>,
    about: &str,
    changes: &[Value],
    cases: &Cases,
) -> Vec<PlannedCall<'r>> {
    let mut calls = Vec::new();
    for operation in operations {
        for change in changes {
            let more = change.as_object().cloned().unwrap_or_default();
            let params = valid_with(run, operation, more, cases);
            calls.extend(params.map(|params| PlannedCall::new(operation, params).about(about)));
        }
    }
    calls
}

/// Like [`valid_calls`], but the adapter must reject the calls.
pub(super) fn invalid_calls<'r>(
    run: &'r Run,
    operations: Vec<&'r Operation>,
    about: &str,
    changes: &[Value],
    cases: &Cases,
) -> Vec<PlannedCall<'r>> {
    let calls = valid_calls(run, operations, about, changes, cases).into_iter();
    calls.map(|call| PlannedCall { gate: CallGate::Rejected, ..call }).collect()
}

/// Values in introspection, each with the subject of findings.
pub(super) type ShownValues<'r> = Vec<(String, &'r Value)>;

/// Checks the form of values in introspection.
pub(super) fn check_forms(
    run: &Run,
    values: for<'r> fn(&'r Run, &Cases) -> ShownValues<'r>,
    form: &Form,
    cases: &Cases,
) {
    for (subject, value) in values(run, cases) {
        form.check(value, cases, || Finding::shown(subject.as_str(), value.clone()));
    }
}

/// Makes the planned calls of a check and judges the replies.
pub(super) async fn judge(run: &Run, calls: Vec<PlannedCall<'_>>, rule: ReplyRule, cases: &Cases) {
    do_all(calls.iter().map(|call| async move {
        let Some(reply) = call.make(run, cases).await else { return };
        let judged = CallReply { run, call, reply: &reply, cases, words: RefCell::default() };
        let Some(holds) = rule(&judged) else { return };
        cases.expect(holds, || {
            let hints = call.hints.unwrap_or(cases.hints);
            let expected = call.filled(hints.expected, &judged.words.borrow());
            Finding::of(&reply, call.subject.as_str()).expected(expected).fix(hints.fix)
        });
    }))
    .await;
}
