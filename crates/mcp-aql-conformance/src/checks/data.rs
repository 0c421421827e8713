//! Checks whose cases are data: calls in `cases/calls.json` and messages in `cases/messages.json`.
//!
//! Other conformance runners can read these files as well. `cases/README.md` describes them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::Value;

use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::forms::{self, Form};
use crate::run::Run;

/// Length of the name that replaces `${long_name}`, in bytes.
const LONG_NAME_BYTES: usize = 2_000;

static CALLS: LazyLock<Vec<CallCase>> =
    LazyLock::new(|| read(include_str!("../../cases/calls.json")).unwrap_or_default());
static MESSAGES: LazyLock<Vec<MessageCase>> =
    LazyLock::new(|| read(include_str!("../../cases/messages.json")).unwrap_or_default());

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile<T> {
    #[cfg_attr(not(test), expect(dead_code, reason = "it is for other readers of the files"))]
    version: u32,
    checks: Vec<T>,
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<Vec<T>, serde_json::Error> {
    Ok(serde_json::from_str::<CaseFile<T>>(text)?.checks)
}

/// Calls of a tool with the reply that each must get.
///
/// ```json
/// {
///   "check": "routing.missing_operation",
///   "tools": "each",
///   "arguments": [{}, { "params": {} }],
///   "expect": { "outcome": "refusal" }
/// }
/// ```
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallCase {
    check: String,
    tools: Tools,
    arguments: Vec<Value>,
    expect: Expectation,
    expected: String,
    fix: String,
}

/// Selects the tools that receive a call.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tools {
    /// Every endpoint tool.
    Each,
    /// The tool that answers `introspect`.
    Introspect,
}

/// The reply that a call must get. All given members must match.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    outcome: ExpectedOutcome,
    /// Error code of the failure.
    code: Option<String>,
    /// Part of the error message.
    message: Option<String>,
    /// Expected values in `data`, by JSON pointer.
    #[serde(default)]
    data: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExpectedOutcome {
    /// A success: `{"success": true, …}`.
    Success,
    /// A failure with an error code: `{"success": false, "error": …}`.
    Failure,
    /// A failure whose error has only `code` and `message`.
    BareFailure,
    /// A rejection in any form: a failure, a tool result with `isError` and without `success`, or a JSON-RPC error. An
    /// MCP library may reject requests that violate the tool's schema.
    Refusal,
}

impl Expectation {
    /// Returns the form of the reply, if the outcome requires a single form.
    const fn form(&self) -> Option<&'static Form> {
        match self.outcome {
            ExpectedOutcome::BareFailure => Some(&forms::BARE_FAILURE),
            ExpectedOutcome::Success | ExpectedOutcome::Failure | ExpectedOutcome::Refusal => None,
        }
    }

    fn holds(&self, run: &Run, exchange: &Exchange) -> bool {
        let is_as_expected = match self.outcome {
            ExpectedOutcome::Success => exchange.succeeded(),
            ExpectedOutcome::Failure => exchange.body().is_some() && exchange.code().is_some(),
            ExpectedOutcome::BareFailure => {
                exchange.body().is_some_and(|body| self.form().is_some_and(|it| it.fits(body)))
            }
            ExpectedOutcome::Refusal => exchange.is_rejected(),
        };
        let message = exchange.failure().map_or("", |failure| failure.message);
        let is_code = |code: &String| exchange.code() == Some(code);
        is_as_expected
            && self.code.as_ref().is_none_or(is_code)
            && self.message.as_ref().is_none_or(|part| message.contains(&filled(part, run)))
            && self.data.iter().all(|(pointer, value)| {
                exchange.data().and_then(|data| data.pointer(pointer)) == Some(value)
            })
    }
}

/// Replaces the placeholders in a string.
///
/// ```text
/// ${absent_operation} → the name of an operation that does not exist
/// ${long_name}        → aaa… (2,000 characters)
/// ```
fn filled(text: &str, run: &Run) -> String {
    text.replace("${absent_operation}", &run.absent_operation())
        .replace("${long_name}", &"a".repeat(LONG_NAME_BYTES))
}

/// Replaces the placeholders in the arguments of a call.
fn fill(value: &mut Value, run: &Run) {
    match value {
        Value::String(text) => *text = filled(text, run),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, run)),
        Value::Object(members) => members.values_mut().for_each(|member| fill(member, run)),
        _ => {}
    }
}

/// Makes the calls of a check and compares the replies.
pub(super) async fn calls(run: &Run, check: &str, cases: &Cases) {
    for case in CALLS.iter().filter(|case| case.check == check) {
        let tools: Vec<&str> = match case.tools {
            Tools::Each => run.adapter.endpoints.iter().map(|tool| tool.name.as_str()).collect(),
            Tools::Introspect => vec![&run.adapter.introspect],
        };
        let calls = case.arguments.iter().flat_map(|arguments| {
            let mut arguments = arguments.clone();
            fill(&mut arguments, run);
            tools.iter().map(move |tool| (*tool, arguments.clone()))
        });
        join_all(calls.map(|(tool, arguments)| async move {
            let Some(exchange) = run.refused(tool, arguments, cases).await else { return };
            let finding =
                |expected| Finding::of(&exchange, tool).expected(expected).fix(&*case.fix);
            let expected = filled(&case.expected, run);
            // A success instead of a failure is one deviation, although all of its members differ.
            if let (Some(form), Some(body)) = (case.expect.form(), exchange.body())
                && !exchange.succeeded()
                && !form.fits(body)
            {
                form.check(body, cases, || finding(format!("{expected} ({{faults}})")));
            } else {
                cases.expect(case.expect.holds(run, &exchange), || finding(expected));
            }
        }))
        .await;
    }
}

/// Messages that the adapter must survive. With a `method`, they are requests that it must reject.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageCase {
    check: String,
    /// Whole lines to send.
    #[serde(default)]
    pub(super) lines: Vec<String>,
    /// Method of the requests in `params`.
    pub(super) method: Option<String>,
    /// Parameters of each request as a JSON string, because they may contain duplicate names.
    #[serde(default)]
    pub(super) params: Vec<String>,
    pub(super) fix: String,
}

/// Returns the messages of a check.
pub(super) fn messages(check: &str) -> impl Iterator<Item = &'static MessageCase> {
    MESSAGES.iter().filter(move |case| case.check == check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;

    #[test]
    fn the_files_are_valid_and_name_checks() {
        let calls: CaseFile<CallCase> =
            serde_json::from_str(include_str!("../../cases/calls.json")).expect("calls.json");
        let messages: CaseFile<MessageCase> =
            serde_json::from_str(include_str!("../../cases/messages.json")).expect("messages.json");
        assert_eq!((calls.version, messages.version), (1, 1));
        let named = calls.checks.iter().map(|case| &case.check);
        for check in named.chain(messages.checks.iter().map(|case| &case.check)) {
            assert!(checks::all().any(|known| known.id == check), "{check} is not a check");
        }
        for case in messages.checks {
            assert_ne!(case.lines.is_empty(), case.params.is_empty(), "{}", case.check);
            assert_eq!(case.method.is_some(), case.lines.is_empty(), "{}", case.check);
        }
    }
}
