//! What parameters operations take, and what they refuse.
//!
//! Whatever has to be refused is sent with identifiers that nobody has, so that it hits nothing where it is
//! not refused.

mod missing;
mod names;
mod places;
mod taken;
mod wrong;

use serde_json::{Map, Value, json};

use super::{Body, Check, later, of_level_1 as check, should};
use crate::call::Exchange;
use crate::cases::{Cases, Skip};
use crate::learn::{Category, Operation, Parameter};
use crate::run::Run;
use crate::values;

pub(super) const CHECKS: &[Check] = &[
    check(
        "parameters.nested",
        "READ operations take their parameters from `params`",
        &["REQ-RQ-01", "REQ-RQ-03"],
        Body::Reads(later!(places::nested)),
    ),
    check(
        "parameters.top_level",
        "Every operation takes its parameters beside `operation` too",
        &["REQ-RQ-03"],
        Body::Changes(later!(places::top_level)),
    ),
    check(
        "parameters.nested_wins",
        "A value in `params` goes before one of the same name beside `operation`",
        &["REQ-RQ-03"],
        Body::Changes(later!(places::nested_wins)),
    ),
    check(
        "parameters.params_no_object",
        "`params` that is no object is refused",
        &["REQ-RQ-01", "REQ-RQ-08"],
        Body::Changes(later!(places::params_no_object)),
    ),
    check(
        "parameters.missing_required",
        "Every required parameter that is missing is named in a VALIDATION_MISSING_PARAM",
        &["REQ-RQ-07", "REQ-RQ-08", "REQ-INT-20", "REQ-CNF-07"],
        Body::Changes(later!(missing::missing_required)),
    ),
    should(check(
        "parameters.missing_text",
        "A missing parameter is told with its name and what is expected",
        &["REQ-ERR-06"],
        Body::Changes(later!(missing::missing_text)),
    )),
    should(check(
        "parameters.missing_description",
        "The message about a missing parameter contains the description that introspection shows",
        &["REQ-ERR-06"],
        Body::Changes(later!(missing::missing_description)),
    )),
    check(
        "parameters.null_required",
        "null does not stand for a required parameter",
        &["REQ-RQ-07", "REQ-ENC-15"],
        Body::Changes(later!(missing::null_required)),
    ),
    check(
        "parameters.null_optional",
        "null for an optional parameter is left out or refused, and nothing breaks",
        &["REQ-RQ-08", "REQ-ENC-15"],
        Body::Changes(later!(missing::null_optional)),
    ),
    check(
        "parameters.order",
        "Missing parameters are told before wrong types, these before unknown names, these before constraints",
        &["REQ-RQ-07"],
        Body::Changes(later!(missing::order)),
    ),
    check(
        "parameters.required_agree",
        "No operation misses a parameter that introspection shows as optional",
        &["REQ-INT-20", "REQ-RQ-07"],
        Body::Every(missing::required_agree),
    ),
    check(
        "parameters.wrong_type",
        "Every parameter refuses values of every other JSON type with VALIDATION_INVALID_TYPE",
        &["REQ-RQ-07", "REQ-RQ-08", "REQ-INT-20"],
        Body::Changes(later!(wrong::wrong_type)),
    ),
    check(
        "parameters.enum",
        "Values that an `enum` does not have are refused",
        &["REQ-RQ-07"],
        Body::Changes(later!(wrong::words)),
    ),
    check(
        "parameters.minimum",
        "Numbers below a `minimum` are refused",
        &["REQ-RQ-07"],
        Body::Changes(later!(wrong::minimum)),
    ),
    check(
        "parameters.maximum",
        "Numbers above a `maximum` are refused",
        &["REQ-RQ-07"],
        Body::Changes(later!(wrong::maximum)),
    ),
    check(
        "parameters.length",
        "Texts shorter than `minLength` or longer than `maxLength` are refused",
        &["REQ-RQ-07", "REQ-INT-20"],
        Body::Changes(later!(wrong::length)),
    ),
    check(
        "parameters.pattern",
        "Texts that do not match a `pattern` are refused",
        &["REQ-RQ-07"],
        Body::Changes(later!(wrong::pattern)),
    ),
    check(
        "parameters.format",
        "Texts that are not in their `format` are refused",
        &["REQ-RQ-07", "REQ-ENC-03", "REQ-INT-20"],
        Body::Changes(later!(wrong::format)),
    ),
    check(
        "parameters.items",
        "Lists with items that do not fit are refused",
        &["REQ-RQ-07", "REQ-INT-20"],
        Body::Changes(later!(wrong::items)),
    ),
    check(
        "parameters.members",
        "Objects of a named type with missing or wrong fields are refused",
        &["REQ-INT-20", "REQ-INT-22"],
        Body::Changes(later!(wrong::members)),
    ),
    should(check(
        "parameters.details_names",
        "`details.param_name` of a refused value names its parameter",
        &["REQ-ERR-05", "REQ-ERR-07"],
        Body::Changes(later!(wrong::details_names)),
    )),
    check(
        "parameters.boundaries",
        "Values at the very edge of their constraints are taken",
        &["REQ-INT-20"],
        Body::Changes(later!(taken::boundaries)),
    ),
    check(
        "parameters.documented_accepted",
        "Every documented parameter is taken",
        &["REQ-INT-20", "REQ-CNF-08"],
        // What the configuration lets run may act on things of other checks.
        Body::Alone(later!(taken::documented_accepted)),
    ),
    check(
        "parameters.default_effect",
        "A documented default is what is taken where the parameter is left out",
        &["REQ-RQ-09"],
        Body::Reads(later!(taken::default_effect)),
    ),
    should(check(
        "parameters.shared_agree",
        "Parameters of one name agree in type and default across operations",
        &["REQ-RQ-13"],
        Body::Learned(taken::shared_agree),
    )),
    check(
        "parameters.unknown_nested",
        "An unknown name in `params` is refused with VALIDATION_UNKNOWN_PARAM, which names it",
        &["REQ-UNK-01", "REQ-UNK-02", "REQ-UNK-08"],
        Body::Changes(later!(names::unknown_nested)),
    ),
    check(
        "parameters.unknown_top_level",
        "An unknown name beside `operation` is refused as one in `params` is",
        &["REQ-UNK-04"],
        Body::Changes(later!(names::unknown_top_level)),
    ),
    should(check(
        "parameters.unknown_all_named",
        "All unknown names are told at once",
        &["REQ-UNK-03"],
        Body::Changes(later!(names::unknown_all_named)),
    )),
    check(
        "parameters.reserved_prefix",
        "Names that start with `_` are never unknown",
        &["REQ-UNK-05"],
        Body::Changes(later!(names::reserved_prefix)),
    ),
    check(
        "parameters.undocumented",
        "The protocol's own parameters are refused where they are not documented",
        &["REQ-INT-21", "REQ-UNK-01", "REQ-CNF-08"],
        Body::Changes(later!(names::undocumented)),
    ),
    check(
        "parameters.camel_case",
        "Spellings in camel case are honoured or refused, never ignored",
        &["REQ-RQ-05", "REQ-UNK-01"],
        Body::Changes(later!(names::camel_case)),
    ),
];

/// All operations with parameters in the right form. `introspect` has checks of its own.
fn all<'a>(run: &'a Run, cases: &Cases) -> Vec<(&'a Operation, Map<String, Value>)> {
    run.adapter
        .operations
        .iter()
        .filter(|operation| operation.name != "introspect")
        .filter_map(|operation| Some((operation, cases.ok_or_skip(run.of_nobody(operation))?)))
        .collect()
}

/// `params` with one more, and with those without which that one is not taken.
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

/// Sends a call that has to be refused. The case is skipped where the reply tells nothing about parameters,
/// which is what other checks are for.
async fn refused(
    run: &Run,
    operation: &Operation,
    arguments: Value,
    cases: &Cases,
) -> Option<Exchange> {
    let exchange = run.refused(&operation.tool, arguments, cases).await?;
    let code = exchange.code();
    let why = if !exchange
        .body()
        .is_some_and(|body| body.get("success").is_some_and(Value::is_boolean))
    {
        format!("`{}` gives no operation result", operation.name)
    } else if code == Some("NOT_FOUND_OPERATION") {
        format!("`{}` is listed and not there", operation.name)
    } else if let Some(missed) = missing::optional(operation, &exchange) {
        format!("`{}` misses `{missed}`, which is shown as optional", operation.name)
    } else {
        return Some(exchange);
    };
    cases.skip(Skip::NoFixture(why));
    None
}

/// Whether a failure has one of these codes and names the parameter, in its details or its message.
fn refuses(exchange: &Exchange, codes: &[&str], parameter: &str) -> bool {
    exchange.failure().is_some_and(|failure| {
        let in_details = failure
            .details
            .get("param_name")
            .and_then(Value::as_str)
            .is_some_and(|name| is_in(name, parameter));
        codes.contains(&failure.code) && (in_details || failure.message.contains(parameter))
    })
}

/// Whether `name` is the parameter, or something inside of it: `tags[0]` of `tags`.
fn is_in(name: &str, parameter: &str) -> bool {
    name.strip_prefix(parameter).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether a call that is taken may do anything: it may not where it names something that is not there, and
/// not where it adds or reads.
fn is_harmless(operation: &Operation) -> bool {
    match operation.category {
        Some(Category::Create) => true,
        Some(Category::Read) => operation.is_read(),
        _ => operation.required().any(|parameter| values::is_identifier(&parameter.name)),
    }
}

/// Why nothing is said of a value that was made up here and is refused for what introspection cannot say.
fn unfit(operation: &Operation) -> Skip {
    Skip::NoFixture(format!(
        "values that `{name}` takes: those made up here were refused, give some under [params.{name}]",
        name = operation.name
    ))
}

/// An operation and one of its parameters, for a report.
fn subject(operation: &Operation, parameter: &Parameter) -> String {
    format!("{}: {}", operation.name, parameter.name)
}
