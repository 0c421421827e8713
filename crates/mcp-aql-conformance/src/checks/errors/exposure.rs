//! Checks that failures state missing items, and do not expose internals of the program or sensitive values.

use std::sync::LazyLock;

use regex::RegexSet;
use serde_json::{Value, json};

use super::{errors, text};
use crate::adapter::Parameter;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::valid_or_missing;
use crate::checks::planned::{CallReply, PlannedCall};
use crate::checks::shapes::subject;
use crate::nouns::is_identifier;
use crate::run::Run;
use crate::shape::Shape;
use crate::values;

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

/// Plans calls with an invalid distinctive value for each sensitive parameter.
pub(super) fn secrets<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let is_sensitive = |it: &Parameter| it.member("sensitive") == Some(&Value::Bool(true));
    let sensitive = run.adapter.parameters().filter(|(_, parameter)| is_sensitive(parameter));
    let sensitive =
        cases.some_or_not_applicable(sensitive, "no parameter is documented as sensitive");
    let calls = sensitive.into_iter().flat_map(|(operation, parameter)| {
        let values = [
            json!([SECRET]),
            json!({ SECRET: SECRET }),
            json!(SECRET.repeat(200)),
            json!(format!("{SECRET}\u{1}")),
            json!(SECRET),
        ];
        let shape = Shape::of(&run.adapter, parameter);
        let wrong = values.into_iter().filter(move |value| !shape.accepts(value));
        wrong.filter_map(move |value| {
            let mut params = cases.ok_or_skip(run.with_missing_ids(operation))?;
            params.insert(parameter.name.clone(), value);
            let about = format!("`{}`", parameter.name);
            Some(PlannedCall::invalid(operation, params).about(&about))
        })
    });
    calls.collect()
}

pub(super) fn is_kept(it: &CallReply<'_>) -> Option<bool> {
    Some(!it.reply.received().to_string().contains(SECRET))
}

/// Plans calls that read an item that does not exist.
pub(super) fn missing_items<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let identifiers = run.adapter.parameters().filter(|(operation, parameter)| {
        operation.is_read()
            && parameter.required
            && is_identifier(&parameter.name)
            && parameter.member("enum").is_none()
    });
    let identifiers =
        cases.some_or_not_applicable(identifiers, "no READ operation requires an identifier");
    let calls = identifiers.into_iter().filter_map(|(operation, parameter)| {
        // Only this parameter names a missing item, so the failure must concern it.
        let mut params = valid_or_missing(run, operation, cases)?;
        let name = &parameter.name;
        let Some(value) = values::missing_id(run, operation, parameter) else {
            let of = &operation.name;
            cases.skip_without(format!("a `{name}` of `{of}` that does not exist"));
            return None;
        };
        params.insert(name.clone(), value);
        Some(PlannedCall::new(operation, params).about(&format!("`{name}`")))
    });
    calls.collect()
}

pub(super) fn is_not_found(it: &CallReply<'_>) -> Option<bool> {
    Some(it.failure().is_some_and(|failure| {
        let has = |name: &str| failure.details.get(name).is_some();
        failure.code == "NOT_FOUND_RESOURCE" && has("resource_type") && has("resource_id")
    }))
}
