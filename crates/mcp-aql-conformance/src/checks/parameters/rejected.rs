//! Checks that adapters reject values forbidden by introspection.

use serde_json::Value;

use super::{all, is_named, is_unread_failure, refused, refuses, subject, with};
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::items::fields_of;
use crate::run::{Run, arguments, do_all};
use crate::shape::{Fault, InvalidValue, Shape};
use crate::values;

/// Error codes for a value of the right type that violates a constraint. The protocol's list of codes has the first, an
/// accompanying document has the second.
const CONSTRAINT: [&str; 2] = ["VALIDATION_INVALID_TYPE", "VALIDATION_INVALID_VALUE"];

/// Returns invalid values of a parameter with one of these defects.
fn all_wrong(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
    faults: &[Fault],
) -> Vec<InvalidValue> {
    let mut wrong = values::wrong(run, operation, parameter);
    if !values::is_aim(operation, parameter) {
        wrong.extend(undocumented_words(run, operation, parameter));
    }
    // Adapters may accept operators in addition to plain values for the keys of a filter.
    wrong.retain(|wrong| {
        faults.contains(&wrong.fault)
            && (wrong.fault != Fault::Member || parameter.name != "filter")
    });
    wrong
}

/// Returns values that the documented result type lists for the field with the parameter's name, but the `enum` of the
/// parameter does not.
fn undocumented_words(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
) -> Vec<InvalidValue> {
    let words = Shape::of(&run.adapter, parameter).words();
    let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
    let fields = returned.map(|name| fields_of(&run.adapter, name)).unwrap_or_default();
    let field = fields.into_iter().find(|field| field.name == parameter.name);
    let shown = field.and_then(|field| field.shape.words()).unwrap_or_default();
    let words = words.unwrap_or(shown);
    shown
        .iter()
        .filter(move |word| !words.contains(word))
        .map(|word| InvalidValue { fault: Fault::Word, value: word.clone(), path: String::new() })
        .collect()
}

/// Sends every value with one of these defects for every parameter.
async fn each(
    run: &Run,
    cases: &Cases,
    faults: &[Fault],
    look: impl Fn(&Operation, &Parameter, &InvalidValue, &Exchange),
) {
    let look = &look;
    let mut calls = Vec::new();
    let mut is_any = false;
    let has = |operation: &Operation| {
        let mut parameters = operation.parameters.iter();
        parameters.any(|parameter| !all_wrong(run, operation, parameter, faults).is_empty())
    };
    for operation in &run.adapter.operations {
        is_any |= operation.name != "introspect" && has(operation);
    }
    if !is_any {
        cases.not_applicable(match run.adapter.operation("introspect").is_some_and(has) {
            true => "only parameters of `introspect` are documented with such a constraint",
            false => "no parameter is documented with such a constraint",
        });
        return;
    }
    for (operation, params) in all(run, cases) {
        for parameter in &operation.parameters {
            for wrong in all_wrong(run, operation, parameter, faults) {
                let params = with(&params, operation, &parameter.name, wrong.value.clone());
                calls.push((operation, parameter, wrong, params));
            }
        }
    }
    let jobs = calls.into_iter().map(|(operation, parameter, wrong, params)| async move {
        let sent = arguments(&operation.name, params);
        if let Some(exchange) = refused(run, operation, sent, cases).await {
            look(operation, parameter, &wrong, &exchange);
        }
    });
    do_all(jobs).await;
}

pub(super) async fn wrong_type(run: &Run, cases: &Cases) {
    each(run, cases, &[Fault::Type], |operation, parameter, _, exchange| {
        // The adapter may check the content of a named type first.
        let is_plain = parameter
            .kind
            .split(" or ")
            .all(|kind| kind.starts_with(|letter: char| letter.is_ascii_lowercase()));
        let codes: &[&str] = if is_plain { &["VALIDATION_INVALID_TYPE"] } else { &CONSTRAINT };
        let is_refused = is_unread_failure(exchange)
            || exchange.failure().is_some_and(|failure| {
                codes.contains(&failure.code) && is_named(&failure, &parameter.name)
            });
        cases.expect(is_refused, || {
            Finding::of(exchange, subject(operation, parameter)).expected(format!(
                "VALIDATION_INVALID_TYPE with `{}` in `details.param_name`, because its type is \
                 \"{}\"",
                parameter.name, parameter.kind
            ))
        });
    })
    .await;
}

/// Checks that values with these defects are rejected.
async fn constrained(run: &Run, cases: &Cases, faults: &[Fault], constraint: &str) {
    each(run, cases, faults, |operation, parameter, wrong, exchange| {
        let is_inside = faults.contains(&Fault::Member) || faults.contains(&Fault::Item);
        let codes: &[&str] = if is_inside {
            // The defect may be a missing or an unknown field.
            &[CONSTRAINT[0], CONSTRAINT[1], "VALIDATION_MISSING_PARAM", "VALIDATION_UNKNOWN_FIELD"]
        } else {
            &CONSTRAINT
        };
        cases.expect(refuses(exchange, codes, &parameter.name), || {
            let path = format!("{}{}", parameter.name, wrong.path);
            let inside = match wrong.path.as_str() {
                "" => String::new(),
                _ => format!(": `{path}` is missing or invalid"),
            };
            Finding::of(exchange, format!("{}: {path}", operation.name))
                .expected(format!(
                    "VALIDATION_INVALID_VALUE that names `{}`, whose {constraint}{inside}",
                    parameter.name
                ))
                .fix("enforce the documented constraints, or document the enforced ones")
        });
    })
    .await;
}

pub(super) async fn words(run: &Run, cases: &Cases) {
    constrained(run, cases, &[Fault::Word], "`enum` does not have the value").await;
}

pub(super) async fn minimum(run: &Run, cases: &Cases) {
    constrained(run, cases, &[Fault::Below], "`minimum` is above the value").await;
}

pub(super) async fn maximum(run: &Run, cases: &Cases) {
    constrained(run, cases, &[Fault::Above], "`maximum` is below the value").await;
}

pub(super) async fn length(run: &Run, cases: &Cases) {
    let faults = [Fault::Short, Fault::Long];
    constrained(run, cases, &faults, "`minLength` or `maxLength` does not allow the string").await;
}

pub(super) async fn pattern(run: &Run, cases: &Cases) {
    constrained(run, cases, &[Fault::Pattern], "`pattern` does not match the string").await;
}

pub(super) async fn format(run: &Run, cases: &Cases) {
    constrained(run, cases, &[Fault::Format], "`format` does not match the string").await;
}

pub(super) async fn items(run: &Run, cases: &Cases) {
    constrained(run, cases, &[Fault::Item], "`items` have another form").await;
}

pub(super) async fn members(run: &Run, cases: &Cases) {
    constrained(run, cases, &[Fault::Member], "type has other fields").await;
}

pub(super) async fn details_names(run: &Run, cases: &Cases) {
    let faults = [
        Fault::Word,
        Fault::Below,
        Fault::Above,
        Fault::Short,
        Fault::Long,
        Fault::Pattern,
        Fault::Format,
        Fault::Item,
    ];
    each(run, cases, &faults, |operation, parameter, _, exchange| {
        // The checks above report accepted values.
        let Some(failure) = exchange.failure() else { return };
        if failure.code != "VALIDATION_INVALID_VALUE" {
            return;
        }
        cases.expect(is_named(&failure, &parameter.name), || {
            Finding::of(exchange, subject(operation, parameter))
                .expected(format!("`details.param_name` to be `{}`", parameter.name))
        });
    })
    .await;
}
