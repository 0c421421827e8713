//! Checks of failures to read items that do not exist.

use crate::adapter::{Operation, Parameter};
use crate::cases::{Cases, Finding};
use crate::checks::calls::valid_or_missing;
use crate::nouns::is_identifier;
use crate::run::Run;
use crate::values;

pub(super) async fn not_found(run: &Run, cases: &Cases) {
    let identifiers = run.adapter.parameters().filter(|(operation, parameter)| {
        operation.is_read()
            && parameter.required
            && is_identifier(&parameter.name)
            && parameter.member("enum").is_none()
    });
    let identifiers =
        cases.some_or_not_applicable(identifiers, "no READ operation requires an identifier");
    for (operation, parameter) in identifiers {
        read_missing_item(run, operation, parameter, cases).await;
    }
}

async fn read_missing_item(run: &Run, operation: &Operation, parameter: &Parameter, cases: &Cases) {
    // Only this parameter names a missing item, so the failure must concern it.
    let Some(mut params) = valid_or_missing(run, operation, cases) else { return };
    let Some(value) = values::missing_id(run, operation, parameter) else {
        return cases.skip_without(format!(
            "a `{}` of `{}` that does not exist",
            parameter.name, operation.name
        ));
    };
    params.insert(parameter.name.clone(), value);
    let Some(exchange) = run.call(operation, params, cases).await else { return };
    let is_reported = exchange.failure().is_some_and(|failure| {
        failure.code == "NOT_FOUND_RESOURCE"
            && ["resource_type", "resource_id"]
                .iter()
                .all(|name| failure.details.get(name).is_some())
    });
    cases.expect(is_reported, || {
        Finding::of(&exchange, format!("{}: `{}`", operation.name, parameter.name))
    });
}
