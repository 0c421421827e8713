//! Checks that adapters reject values forbidden by introspection.

use serde_json::Value;

use super::{concerns_parameters, each_parameter, is_named, is_unread_failure, refuses, with};
use crate::adapter::{Operation, Parameter};
use crate::cases::Cases;
use crate::checks::planned::{CallReply, PlannedCall};
use crate::items::fields_of;
use crate::run::Run;
use crate::shape::{Fault, InvalidValue, Shape};

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
    let mut wrong = crate::values::wrong(run, operation, parameter);
    if !crate::values::is_aim(operation, parameter) {
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

/// Plans a call for every value with one of these defects, of every parameter.
pub(super) fn values<'r>(run: &'r Run, cases: &Cases, faults: &[Fault]) -> Vec<PlannedCall<'r>> {
    let has = |operation: &Operation| {
        let mut parameters = operation.parameters.iter();
        parameters.any(|parameter| !all_wrong(run, operation, parameter, faults).is_empty())
    };
    if !run.adapter.operations.iter().any(|it| it.name != "introspect" && has(it)) {
        cases.not_applicable(match run.adapter.operation("introspect").is_some_and(has) {
            true => "only parameters of `introspect` are documented with such a constraint",
            false => "no parameter is documented with such a constraint",
        });
        return Vec::new();
    }
    each_parameter(run, cases, |operation, parameter, params| {
        let wrong = all_wrong(run, operation, parameter, faults).into_iter();
        let calls = wrong.map(|wrong| {
            let path = format!("{}{}", parameter.name, wrong.path);
            let inside = match wrong.path.as_str() {
                "" => String::new(),
                _ => format!(": `{path}` is missing or invalid"),
            };
            let params = with(params, operation, &parameter.name, wrong.value);
            PlannedCall::invalid(operation, params).word("path", path).word("inside", inside)
        });
        calls.collect::<Vec<_>>()
    })
}

/// Like [`values`], but the subject of findings names the part of the value with the defect.
pub(super) fn parts<'r>(run: &'r Run, cases: &Cases, faults: &[Fault]) -> Vec<PlannedCall<'r>> {
    let calls = values(run, cases, faults).into_iter();
    let with_path = |call: PlannedCall<'r>| {
        let path = call.text("path").to_owned();
        call.about(&path)
    };
    calls.map(with_path).collect()
}

pub(super) fn is_type_rejected(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    // The adapter may check the content of a named type first.
    let mut kinds = it.call.parameter?.kind.split(" or ");
    let is_plain = kinds.all(|kind| kind.starts_with(|letter: char| letter.is_ascii_lowercase()));
    let codes: &[&str] = if is_plain { &["VALIDATION_INVALID_TYPE"] } else { &CONSTRAINT };
    let is_rejected = it
        .failure()
        .is_some_and(|failure| codes.contains(&failure.code) && is_named(&failure, it.parameter()));
    Some(is_rejected || is_unread_failure(it.reply))
}

pub(super) const CONSTRAINT_FIX: &str =
    "enforce the documented constraints, or document the enforced ones";

pub(super) fn is_rejected(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    Some(refuses(it.reply, &CONSTRAINT, it.parameter()))
}

/// The rule for items of lists and for fields of objects: one of them may also be missing or unknown.
pub(super) fn is_part_rejected(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    let codes = ["VALIDATION_MISSING_PARAM", "VALIDATION_UNKNOWN_FIELD"];
    let is_of_part = refuses(it.reply, &codes, it.parameter());
    Some(is_of_part || refuses(it.reply, &CONSTRAINT, it.parameter()))
}

/// All defects of a value of the right type.
pub(super) const DEFECTS: [Fault; 8] = [
    Fault::Word,
    Fault::Below,
    Fault::Above,
    Fault::Short,
    Fault::Long,
    Fault::Pattern,
    Fault::Format,
    Fault::Item,
];

pub(super) fn is_detailed(it: &CallReply<'_>) -> Option<bool> {
    concerns_parameters(it)?;
    // Other checks report accepted values.
    let failure = it.failure().filter(|failure| failure.code == "VALIDATION_INVALID_VALUE")?;
    Some(is_named(&failure, it.parameter()))
}
