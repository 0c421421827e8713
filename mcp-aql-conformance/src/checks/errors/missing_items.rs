//! Checks of the failures of reading missing items.

use crate::adapter::{Operation, Parameter};
use crate::cases::{Cases, Finding, Skip};
use crate::nouns::is_identifier;
use crate::run::Run;
use crate::values;

pub(super) async fn not_found(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for operation in run.adapter.reads() {
        for parameter in operation.required() {
            if is_identifier(&parameter.name) && parameter.member("enum").is_none() {
                is_any = true;
                read_missing_item(run, operation, parameter, cases).await;
            }
        }
    }
    if !is_any {
        cases.not_applicable("no READ operation requires an identifier");
    }
}

async fn read_missing_item(run: &Run, operation: &Operation, parameter: &Parameter, cases: &Cases) {
    // Only this parameter names a missing item, so the failure concerns it.
    let found = run.valid(operation).or_else(|_| run.with_missing_ids(operation));
    let Some(mut params) = cases.ok_or_skip(found) else { return };
    let Some(value) = values::missing_id(run, operation, parameter) else {
        return cases.skip(Skip::NoFixture(format!(
            "a `{}` of `{}` that does not exist",
            parameter.name, operation.name
        )));
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
        Finding::of(
            &exchange,
            format!("{}: `{}`", operation.name, parameter.name),
            "a failure NOT_FOUND_RESOURCE with `resource_type` and `resource_id` in its details, because \
             the item does not exist",
            "return NOT_FOUND_RESOURCE with `resource_type` and `resource_id` in its details: an empty \
             success hides that the item does not exist",
        )
    });
}
