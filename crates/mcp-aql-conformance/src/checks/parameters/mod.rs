//! Checks of parameters: accepted, missing, unknown and invalid ones.
//!
//! Invalid calls use identifiers of missing items, so they change nothing even if the adapter runs them.

mod accepted;
mod missing;
mod names;
mod places;
mod rejected;
mod repair;
mod unlisted_values;

use serde_json::{Map, Value, json};

use super::{Check, checks};
use crate::adapter::{Operation, Parameter};
use crate::call::{Exchange, Failure};
use crate::cases::{Cases, Skip};
use crate::category::Category;
use crate::checks::planned::{CallReply, PlannedCall};
use crate::nouns::is_identifier;
use crate::run::Run;
use crate::shape::Fault;

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "parameters.nested" => Reads(places::nested), ["REQ-RQ-01", "REQ-RQ-03"],
        "READ operations read parameters from `params`",
        fix: "look for each parameter in `params` first";
    Must 1 "parameters.top_level" => Changes(places::top_level), ["REQ-RQ-03"],
        "Every operation also accepts parameters next to `operation`",
        fix: places::RESOLUTION_FIX;
    Must 1 "parameters.nested_wins" => Changes(places::nested_wins), ["REQ-RQ-03"],
        "A value in `params` takes precedence over one of the same name next to `operation`",
        fix: places::RESOLUTION_FIX;
    Must 1 "parameters.params_not_object" => Changes { calls: places::params_not_object, rule: places::is_rejected },
        ["REQ-RQ-01", "REQ-RQ-08"],
        "A `params` that is not an object is rejected",
        expected: "a failure VALIDATION_INVALID_TYPE for `params`",
        fix: "check that `params` is an object before reading its members";
    Must 1 "parameters.missing_required" => Changes { calls: missing::without_each, rule: missing::is_reported },
        ["REQ-RQ-07", "REQ-RQ-08", "REQ-INT-20", "REQ-CNF-07"],
        "A missing required parameter is named in a VALIDATION_MISSING_PARAM",
        expected: "VALIDATION_MISSING_PARAM with `{parameter}` in its message and in `details.param_name`",
        fix: "check all required parameters first, or document this one with `required: false`";
    Should 1 "parameters.missing_text" => Changes { calls: missing::without_each, rule: missing::has_type },
        ["REQ-ERR-06"],
        "The message about a missing parameter states its name and the expected type",
        expected: "a message like \"Missing required parameter '{parameter}'. Expected: {type} (…)\"",
        fix: "state the type and the purpose of the parameter";
    Should 1 "parameters.missing_description" =>
        Changes { calls: missing::without_each, rule: missing::has_description },
        ["REQ-ERR-06"],
        "The message about a missing parameter contains the description in introspection",
        expected: "a message like \"Missing required parameter '{parameter}'. Expected: {type} ({description} …)\"",
        fix: "include the parameter's description from introspection in the message or in the details";
    Must 1 "parameters.null_required" => Changes { calls: missing::null_each, rule: missing::is_null_rejected },
        ["REQ-RQ-07", "REQ-ENC-15"],
        "null is rejected for a required parameter",
        expected: "VALIDATION_MISSING_PARAM or VALIDATION_INVALID_TYPE that names `{parameter}`",
        fix: "reject null like a missing value or a value of a wrong type";
    Must 1 "parameters.null_optional" => Changes { calls: missing::null_optional, rule: missing::is_orderly },
        ["REQ-RQ-08", "REQ-ENC-15"],
        "null for an optional parameter is ignored or rejected",
        expected: "the same reply as without the parameter, or a VALIDATION failure",
        fix: "define the meaning of null for this parameter, and document it";
    Must 1 "parameters.order" => Changes { calls: missing::two_mistakes, rule: missing::is_in_order }, ["REQ-RQ-07"],
        "Missing parameters are reported before wrong types, then unknown names, then constraints",
        expected: "{code}: {mistakes}",
        fix: "check in this order: required parameters, types, unknown names, constraints";
    Must 1 "parameters.required_agree" => Every(missing::required_agree),
        ["REQ-INT-20", "REQ-RQ-07"],
        "Parameters that introspection shows as optional are optional",
        fix: "document the parameter with `required: true`, or make it optional";
    Must 1 "parameters.wrong_type" =>
        Changes { calls: |run, cases| rejected::values(run, cases, &[Fault::Type]), rule: rejected::is_type_rejected },
        ["REQ-RQ-07", "REQ-RQ-08", "REQ-INT-20"],
        "Values of a wrong JSON type are rejected with VALIDATION_INVALID_TYPE",
        expected: "VALIDATION_INVALID_TYPE with `{parameter}` in `details.param_name`, because its type is \
         \"{type}\"",
        fix: "check the JSON type of every parameter without conversions, or document the accepted type";
    Must 1 "parameters.enum" =>
        Changes { calls: |run, cases| rejected::parts(run, cases, &[Fault::Word]), rule: rejected::is_rejected },
        ["REQ-RQ-07"],
        "Values outside an `enum` are rejected",
        expected: "VALIDATION_INVALID_VALUE that names `{parameter}`, whose `enum` does not have the value{inside}",
        fix: rejected::CONSTRAINT_FIX;
    Must 1 "parameters.minimum" =>
        Changes { calls: |run, cases| rejected::parts(run, cases, &[Fault::Below]), rule: rejected::is_rejected },
        ["REQ-RQ-07"],
        "Numbers below a `minimum` are rejected",
        expected: "VALIDATION_INVALID_VALUE that names `{parameter}`, whose `minimum` is above the value{inside}",
        fix: rejected::CONSTRAINT_FIX;
    Must 1 "parameters.maximum" =>
        Changes { calls: |run, cases| rejected::parts(run, cases, &[Fault::Above]), rule: rejected::is_rejected },
        ["REQ-RQ-07"],
        "Numbers above a `maximum` are rejected",
        expected: "VALIDATION_INVALID_VALUE that names `{parameter}`, whose `maximum` is below the value{inside}",
        fix: rejected::CONSTRAINT_FIX;
    Must 1 "parameters.length" =>
        Changes {
            calls: |run, cases| rejected::parts(run, cases, &[Fault::Short, Fault::Long]),
            rule: rejected::is_rejected
        },
        ["REQ-RQ-07", "REQ-INT-20"],
        "Strings shorter than `minLength` or longer than `maxLength` are rejected",
        expected: "VALIDATION_INVALID_VALUE that names `{parameter}`, whose `minLength` or `maxLength` does not \
         allow the string{inside}",
        fix: rejected::CONSTRAINT_FIX;
    Must 1 "parameters.pattern" =>
        Changes { calls: |run, cases| rejected::parts(run, cases, &[Fault::Pattern]), rule: rejected::is_rejected },
        ["REQ-RQ-07"],
        "Strings that do not match a `pattern` are rejected",
        expected: "VALIDATION_INVALID_VALUE that names `{parameter}`, whose `pattern` does not match the \
         string{inside}",
        fix: rejected::CONSTRAINT_FIX;
    Must 1 "parameters.format" =>
        Changes { calls: |run, cases| rejected::parts(run, cases, &[Fault::Format]), rule: rejected::is_rejected },
        ["REQ-RQ-07", "REQ-ENC-03", "REQ-INT-20"],
        "Strings that do not match their `format` are rejected",
        expected: "VALIDATION_INVALID_VALUE that names `{parameter}`, whose `format` does not match the \
         string{inside}",
        fix: rejected::CONSTRAINT_FIX;
    Must 1 "parameters.items" =>
        Changes { calls: |run, cases| rejected::parts(run, cases, &[Fault::Item]), rule: rejected::is_part_rejected },
        ["REQ-RQ-07", "REQ-INT-20"],
        "Lists with invalid items are rejected",
        expected: "VALIDATION_INVALID_VALUE that names `{parameter}`, whose `items` have another form{inside}",
        fix: rejected::CONSTRAINT_FIX;
    Must 1 "parameters.members" =>
        Changes { calls: |run, cases| rejected::parts(run, cases, &[Fault::Member]), rule: rejected::is_part_rejected },
        ["REQ-INT-20", "REQ-INT-22"],
        "Objects of a named type with missing or wrong fields are rejected",
        expected: "VALIDATION_INVALID_VALUE that names `{parameter}`, whose type has other fields{inside}",
        fix: rejected::CONSTRAINT_FIX;
    Should 1 "parameters.details_names" =>
        Changes { calls: |run, cases| rejected::values(run, cases, &rejected::DEFECTS), rule: rejected::is_detailed },
        ["REQ-ERR-05", "REQ-ERR-07"],
        "`details.param_name` of a rejected value names its parameter",
        expected: "`details.param_name` to be `{parameter}`",
        fix: "name the parameter in the details: programs cannot read the message";
    Should 1 "parameters.misspelt_name" => Changes { calls: repair::misspelt_names, rule: repair::states_name },
        ["REQ-ERR-05", "REQ-UNK-02"],
        "The failure of a misspelt parameter contains the right name",
        expected: "`{parameter}` in the message or in the details, because `{wrong}` is a misspelling of it",
        fix: "list the valid names in `details.valid_params`, or suggest the most similar one in the message";
    Should 1 "parameters.allowed_values" => Changes { calls: repair::outside_enums, rule: repair::lists_values },
        ["REQ-ERR-05"],
        "The failure of a value outside an `enum` lists the allowed values",
        expected: "the allowed values in the message or in the details: {allowed}",
        fix: "list the allowed values, so that the caller can choose one without another call";
    Should 1 "parameters.expected_type" => Changes { calls: repair::wrong_types, rule: repair::states_right_type },
        ["REQ-ERR-05", "REQ-INT-20"],
        "`details.expected_type` is a type that the parameter accepts",
        expected: "an `expected_type` that the parameter accepts: {type}",
        fix: "state the type that introspection documents: callers send the stated one next";
    Should 1 "parameters.json_text" => Changes { calls: repair::json_texts, rule: repair::states_json }, ["REQ-ERR-05"],
        "The failure of an object that is sent as a string of JSON names the parameter and its type",
        expected: "a failure that names `{parameter}` and the expected type {type}",
        fix: "say that the parameter is JSON and not a string that contains JSON: models often send a string";
    Should 1 "parameters.unlisted_values" =>
        Changes { calls: unlisted_values::unusual_strings, rule: unlisted_values::is_documented },
        ["REQ-INT-21", "REQ-ERR-05"],
        "A string parameter that accepts only certain values documents them",
        expected: "an `enum` of `{parameter}` with the values that the failure lists: {values}",
        fix: "document the values in `enum`, in an enum type or in the description, so that callers know them before \
         the first call; if they change, name the operation that returns them";
    Must 1 "parameters.boundaries" => Changes(accepted::boundaries), ["REQ-INT-20"],
        "Values at the bounds of their constraints are accepted",
        expected: "an accepted value, because it is within the documented constraints",
        fix: "enforce exactly the documented constraints; lengths are counted in characters";
    // Operations with configured parameters may act on items of other checks.
    Must 1 "parameters.documented_accepted" => Alone(accepted::documented_accepted),
        ["REQ-INT-20", "REQ-CNF-08"],
        "Every documented parameter is accepted",
        fix: "accept every documented parameter in its documented form, or correct the configuration";
    Must 1 "parameters.default_effect" => Reads(accepted::default_effect), ["REQ-RQ-09"],
        "A documented default applies if the parameter is omitted",
        expected: "the same data as without the parameter, because this is its default",
        fix: "apply the documented default if the parameter is omitted, or document the applied one";
    Should 1 "parameters.shared_agree" => Learned(accepted::shared_agree), ["REQ-RQ-13"],
        "Parameters of one name agree in type and default across operations",
        fix: "give parameters of one name one meaning, or rename one";
    Must 1 "parameters.unknown_nested" => Changes { calls: names::nested, rule: names::is_named },
        ["REQ-UNK-01", "REQ-UNK-02", "REQ-UNK-08"],
        "An unknown name in `params` is rejected with a VALIDATION_UNKNOWN_PARAM that names it",
        expected: "VALIDATION_UNKNOWN_PARAM that names `{name}`, with `operation`, `unknown_params` and \
         `valid_params` in its details",
        fix: names::UNKNOWN_FIX;
    Must 1 "parameters.unknown_top_level" => Changes { calls: names::top_level, rule: names::is_named }, ["REQ-UNK-04"],
        "An unknown name next to `operation` is rejected like one in `params`",
        expected: "VALIDATION_UNKNOWN_PARAM that names `{name}`, with `operation`, `unknown_params` and \
         `valid_params` in its details",
        fix: names::UNKNOWN_FIX;
    Should 1 "parameters.unknown_all_named" => Changes { calls: names::two, rule: names::are_named }, ["REQ-UNK-03"],
        "All unknown names are reported at once",
        expected: "both `{first}` and `{second}`, in the message and in `unknown_params`",
        fix: "collect all unknown names before the reply";
    Must 1 "parameters.reserved_prefix" => Changes { calls: names::reserved, rule: names::is_ignored }, ["REQ-UNK-05"],
        "Names that start with `_` are never unknown",
        expected: "`_conformance_probe` to be ignored",
        fix: "ignore names that start with `_` in the check for unknown names: they are metadata";
    Must 1 "parameters.undocumented" => Changes(names::undocumented),
        ["REQ-INT-21", "REQ-UNK-01", "REQ-CNF-08"],
        "Undocumented parameters of the protocol are rejected",
        fix: "document the parameter if it is supported, and reject it otherwise";
    Must 1 "parameters.camel_case" => Changes(names::camel_case), ["REQ-RQ-05", "REQ-UNK-01"],
        "camelCase spellings are accepted or rejected, never ignored",
        expected: "VALIDATION_UNKNOWN_PARAM, or VALIDATION_INVALID_TYPE if the spelling is accepted",
        fix: "reject the spelling like any unknown name, or treat it like the snake_case name";
];

/// Returns all operations with well-formed parameters except `introspect`. That one has its own checks.
fn all<'a>(run: &'a Run, cases: &Cases) -> Vec<(&'a Operation, Map<String, Value>)> {
    run.adapter
        .exercised()
        .filter(|operation| operation.name != "introspect")
        .filter_map(|operation| {
            Some((operation, cases.ok_or_skip(run.with_missing_ids(operation))?))
        })
        .collect()
}

/// Plans calls that change one parameter each. `plan` returns the calls for a parameter, given well-formed parameters.
fn each_parameter<'r, I: IntoIterator<Item = PlannedCall<'r>>>(
    run: &'r Run,
    cases: &Cases,
    plan: impl Fn(&'r Operation, &'r Parameter, &Map<String, Value>) -> I,
) -> Vec<PlannedCall<'r>> {
    let mut calls = Vec::new();
    for (operation, params) in all(run, cases) {
        for parameter in &operation.parameters {
            let planned = plan(operation, parameter, &params).into_iter();
            calls.extend(planned.map(|call| call.of(parameter)));
        }
    }
    calls
}

/// Returns the parameters extended by this one and by others that it depends on.
fn with(
    params: &Map<String, Value>,
    operation: &Operation,
    name: &str,
    value: Value,
) -> Map<String, Value> {
    let mut params = params.clone();
    let beside = match name {
        "after" => Some(("first", json!(1))),
        "before" => Some(("last", json!(1))),
        "include_items" => Some(("aggregate", json!({ "conformance": { "count": true } }))),
        "order" => Some(("sort", json!("conformance"))),
        _ => None,
    };
    if let Some((other, value)) = beside.filter(|(other, _)| operation.parameter(other).is_some()) {
        params.entry(other).or_insert(value);
    }
    params.insert(name.to_owned(), value);
    params
}

/// Sends a call that must fail. Skips the case if the reply does not concern parameters.
async fn refused(
    run: &Run,
    operation: &Operation,
    arguments: Value,
    cases: &Cases,
) -> Option<Exchange> {
    let exchange = run.refused(&operation.tool, arguments, cases).await?;
    is_about_parameters(operation, &exchange, cases).then_some(exchange)
}

/// Returns `Some` if the reply concerns parameters. Skips the case otherwise.
fn concerns_parameters(it: &CallReply<'_>) -> Option<()> {
    is_about_parameters(it.call.operation, it.reply, it.cases).then_some(())
}

/// Returns `true` if the reply concerns parameters. Skips the case otherwise, because other checks report that.
fn is_about_parameters(operation: &Operation, reply: &Exchange, cases: &Cases) -> bool {
    let is_result =
        reply.body().is_some_and(|body| body.get("success").is_some_and(Value::is_boolean));
    let why = if !is_result && reply.failure().is_none() {
        format!("`{}` did not return an operation result", operation.name)
    } else if reply.code() == Some("NOT_FOUND_OPERATION") {
        format!("`{}` is listed but does not exist", operation.name)
    } else if let Some(missed) = missing::optional(operation, reply) {
        format!("`{}` requires `{missed}`, which is documented as optional", operation.name)
    } else {
        return true;
    };
    cases.skip_without(why);
    false
}

/// Returns `true` if a call failed without a readable error code. Another check reports that.
fn is_unread_failure(exchange: &Exchange) -> bool {
    exchange.failure().is_some_and(|failure| failure.code.is_empty())
}

/// Returns `true` if a call failed without a readable error code and its message names the parameter.
fn is_unread_failure_about(exchange: &Exchange, parameter: &str) -> bool {
    is_unread_failure(exchange)
        && exchange.failure().is_some_and(|failure| failure.message.contains(parameter))
}

/// Returns `true` if a failure has one of these codes and names the parameter in its details or its message.
fn refuses(exchange: &Exchange, codes: &[&str], parameter: &str) -> bool {
    is_unread_failure(exchange)
        || exchange.failure().is_some_and(|failure| {
            codes.contains(&failure.code)
                && (is_named(&failure, parameter) || failure.message.contains(parameter))
        })
}

/// Returns `true` if the details of a failure name the parameter or a part of it, for example `tags[0]` of `tags`.
fn is_named(failure: &Failure<'_>, parameter: &str) -> bool {
    let name = failure.details.get("param_name").and_then(Value::as_str);
    let rest = name.and_then(|name| name.strip_prefix(parameter));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Returns `true` if a successful call is harmless: it names an item that does not exist, or it only creates or reads.
fn is_harmless(operation: &Operation) -> bool {
    match operation.category {
        Some(Category::Create) => true,
        Some(Category::Read) => operation.is_read(),
        _ => operation.required().any(|parameter| is_identifier(&parameter.name)),
    }
}

/// Returns the reason to skip a rejected generated value. The adapter may have rules beyond introspection.
fn unfit(operation: &Operation) -> Skip {
    Skip::NoFixture(format!(
        "values that `{name}` accepts: generated ones were rejected, add some under \
         [params.{name}]",
        name = operation.name
    ))
}

/// Returns the subject of a finding: an operation and one of its parameters.
fn subject(operation: &Operation, parameter: &Parameter) -> String {
    format!("{}: {}", operation.name, parameter.name)
}
