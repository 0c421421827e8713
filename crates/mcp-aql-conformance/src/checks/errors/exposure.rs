//! Checks that failures do not expose internals of the program or sensitive values.

use std::sync::LazyLock;

use regex::RegexSet;
use serde_json::{Value, json};

use super::{errors, text};
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::shapes::subject;
use crate::run::Run;
use crate::shape::Shape;

pub(super) fn no_internals(run: &Run, cases: &Cases) {
    let (leaks, paths) = (run.seen().leaks, run.paths());
    cases.expect(leaks.count + paths.count == 0, || {
        let mut samples = [leaks.first, paths.first].concat();
        samples.sort();
        Finding::shown("messages of errors", samples)
    });
}

/// Patterns that the protocol's own runner rejects in error messages.
static OFFICIAL: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    RegexSet::new([
        r"(?i)(?:type|reference|syntax)error",
        r"(?i)at\s+\S+",
        r"(?i)/(?:src|node_modules)/",
        r"(?i)\.[tj]s:[0-9]+",
    ])
    .ok()
});

pub(super) fn official_patterns(_: &Run, exchange: &Exchange, cases: &Cases) {
    for (_, error) in errors(exchange) {
        // If `error` is a string, `errors.form` reports that. Check the string here.
        let message = error.as_str().unwrap_or_else(|| text(error, "message"));
        let is_hit = OFFICIAL.as_ref().is_some_and(|official| official.is_match(message));
        cases.expect(!is_hit, || {
            Finding::of(exchange, format!("{}: {}", subject(exchange), text(error, "code")))
        });
    }
}

/// A distinctive value that must not appear in an error message.
const SECRET: &str = "Conformance-Secret-7141";

pub(super) async fn echo(run: &Run, cases: &Cases) {
    let sensitive = run
        .adapter
        .parameters()
        .filter(|(_, parameter)| parameter.member("sensitive") == Some(&Value::Bool(true)));
    let sensitive =
        cases.some_or_not_applicable(sensitive, "no parameter is documented as sensitive");
    for (operation, parameter) in sensitive {
        let shape = Shape::of(&run.adapter, parameter);
        let wrong = [
            json!([SECRET]),
            json!({ SECRET: SECRET }),
            json!(SECRET.repeat(200)),
            json!(format!("{SECRET}\u{1}")),
            json!(SECRET),
        ];
        for value in wrong.into_iter().filter(|value| !shape.accepts(value)) {
            try_secret(run, operation, parameter, value, cases).await;
        }
    }
}

async fn try_secret(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
    value: Value,
    cases: &Cases,
) {
    let Some(mut params) = cases.ok_or_skip(run.with_missing_ids(operation)) else { return };
    params.insert(parameter.name.clone(), value);
    let Some(exchange) = run.refused_call(operation, params, cases).await else { return };
    let is_kept = !exchange.received().to_string().contains(SECRET);
    cases.expect(is_kept, || {
        Finding::of(&exchange, format!("{}: `{}`", operation.name, parameter.name))
    });
}
