//! Checks of parameters: accepted, missing, unknown and invalid ones.
//!
//! Calls that must be rejected name missing items, so that they change nothing if they run.

mod accepted;
mod missing;
mod names;
mod places;
mod rejected;

use serde_json::{Map, Value, json};

use super::{Body, Check, later, of_level_1 as check, should};
use crate::adapter::{Operation, Parameter};
use crate::call::Exchange;
use crate::cases::{Cases, Skip};
use crate::category::Category;
use crate::nouns::is_identifier;
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[
    check(
        "parameters.nested",
        "READ operations read parameters from `params`",
        &["REQ-RQ-01", "REQ-RQ-03"],
        Body::Reads(later!(places::nested)),
    ),
    check(
        "parameters.top_level",
        "Every operation also accepts parameters beside `operation`",
        &["REQ-RQ-03"],
        Body::Changes(later!(places::top_level)),
    ),
    check(
        "parameters.nested_wins",
        "A value in `params` takes precedence over one of the same name beside `operation`",
        &["REQ-RQ-03"],
        Body::Changes(later!(places::nested_wins)),
    ),
    check(
        "parameters.params_not_object",
        "A `params` that is not an object is rejected",
        &["REQ-RQ-01", "REQ-RQ-08"],
        Body::Changes(later!(places::params_not_object)),
    ),
    check(
        "parameters.missing_required",
        "A missing required parameter is named in a VALIDATION_MISSING_PARAM",
        &["REQ-RQ-07", "REQ-RQ-08", "REQ-INT-20", "REQ-CNF-07"],
        Body::Changes(later!(missing::missing_required)),
    ),
    should(check(
        "parameters.missing_text",
        "The message about a missing parameter states its name and the expected type",
        &["REQ-ERR-06"],
        Body::Changes(later!(missing::missing_text)),
    )),
    should(check(
        "parameters.missing_description",
        "The message about a missing parameter contains the description in introspection",
        &["REQ-ERR-06"],
        Body::Changes(later!(missing::missing_description)),
    )),
    check(
        "parameters.null_required",
        "null is rejected for a required parameter",
        &["REQ-RQ-07", "REQ-ENC-15"],
        Body::Changes(later!(missing::null_required)),
    ),
    check(
        "parameters.null_optional",
        "null for an optional parameter is ignored or rejected",
        &["REQ-RQ-08", "REQ-ENC-15"],
        Body::Changes(later!(missing::null_optional)),
    ),
    check(
        "parameters.order",
        "Missing parameters are reported before wrong types, then unknown names, then constraints",
        &["REQ-RQ-07"],
        Body::Changes(later!(missing::order)),
    ),
    check(
        "parameters.required_agree",
        "Parameters that introspection shows as optional are optional",
        &["REQ-INT-20", "REQ-RQ-07"],
        Body::Every(missing::required_agree),
    ),
    check(
        "parameters.wrong_type",
        "Values of a wrong JSON type are rejected with VALIDATION_INVALID_TYPE",
        &["REQ-RQ-07", "REQ-RQ-08", "REQ-INT-20"],
        Body::Changes(later!(rejected::wrong_type)),
    ),
    check(
        "parameters.enum",
        "Values outside an `enum` are rejected",
        &["REQ-RQ-07"],
        Body::Changes(later!(rejected::words)),
    ),
    check(
        "parameters.minimum",
        "Numbers below a `minimum` are rejected",
        &["REQ-RQ-07"],
        Body::Changes(later!(rejected::minimum)),
    ),
    check(
        "parameters.maximum",
        "Numbers above a `maximum` are rejected",
        &["REQ-RQ-07"],
        Body::Changes(later!(rejected::maximum)),
    ),
    check(
        "parameters.length",
        "Texts shorter than `minLength` or longer than `maxLength` are rejected",
        &["REQ-RQ-07", "REQ-INT-20"],
        Body::Changes(later!(rejected::length)),
    ),
    check(
        "parameters.pattern",
        "Texts that do not match a `pattern` are rejected",
        &["REQ-RQ-07"],
        Body::Changes(later!(rejected::pattern)),
    ),
    check(
        "parameters.format",
        "Texts that do not match their `format` are rejected",
        &["REQ-RQ-07", "REQ-ENC-03", "REQ-INT-20"],
        Body::Changes(later!(rejected::format)),
    ),
    check(
        "parameters.items",
        "Lists with invalid items are rejected",
        &["REQ-RQ-07", "REQ-INT-20"],
        Body::Changes(later!(rejected::items)),
    ),
    check(
        "parameters.members",
        "Objects of a named type with missing or wrong fields are rejected",
        &["REQ-INT-20", "REQ-INT-22"],
        Body::Changes(later!(rejected::members)),
    ),
    should(check(
        "parameters.details_names",
        "`details.param_name` of a rejected value names its parameter",
        &["REQ-ERR-05", "REQ-ERR-07"],
        Body::Changes(later!(rejected::details_names)),
    )),
    check(
        "parameters.boundaries",
        "Values at the bounds of their constraints are accepted",
        &["REQ-INT-20"],
        Body::Changes(later!(accepted::boundaries)),
    ),
    check(
        "parameters.documented_accepted",
        "Every documented parameter is accepted",
        &["REQ-INT-20", "REQ-CNF-08"],
        // Operations with configured parameters may act on items of other checks.
        Body::Alone(later!(accepted::documented_accepted)),
    ),
    check(
        "parameters.default_effect",
        "A documented default applies if the parameter is omitted",
        &["REQ-RQ-09"],
        Body::Reads(later!(accepted::default_effect)),
    ),
    should(check(
        "parameters.shared_agree",
        "Parameters of one name agree in type and default across operations",
        &["REQ-RQ-13"],
        Body::Learned(accepted::shared_agree),
    )),
    check(
        "parameters.unknown_nested",
        "An unknown name in `params` is rejected with a VALIDATION_UNKNOWN_PARAM that names it",
        &["REQ-UNK-01", "REQ-UNK-02", "REQ-UNK-08"],
        Body::Changes(later!(names::unknown_nested)),
    ),
    check(
        "parameters.unknown_top_level",
        "An unknown name beside `operation` is rejected like one in `params`",
        &["REQ-UNK-04"],
        Body::Changes(later!(names::unknown_top_level)),
    ),
    should(check(
        "parameters.unknown_all_named",
        "All unknown names are reported at once",
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
        "Undocumented parameters of the protocol are rejected",
        &["REQ-INT-21", "REQ-UNK-01", "REQ-CNF-08"],
        Body::Changes(later!(names::undocumented)),
    ),
    check(
        "parameters.camel_case",
        "camelCase spellings are accepted or rejected, never ignored",
        &["REQ-RQ-05", "REQ-UNK-01"],
        Body::Changes(later!(names::camel_case)),
    ),
];

/// All operations with well-formed parameters, except `introspect`, which has its own checks.
fn all<'a>(run: &'a Run, cases: &Cases) -> Vec<(&'a Operation, Map<String, Value>)> {
    run.adapter
        .operations
        .iter()
        .filter(|operation| operation.name != "introspect")
        .filter_map(|operation| {
            Some((operation, cases.ok_or_skip(run.with_missing_ids(operation))?))
        })
        .collect()
}

/// The parameters with one more, and with others that it depends on.
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

/// Sends a call that must fail. Skips the case if the reply concerns something other than parameters, which
/// other checks report.
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
        format!("`{}` did not return an operation result", operation.name)
    } else if code == Some("NOT_FOUND_OPERATION") {
        format!("`{}` is listed but does not exist", operation.name)
    } else if let Some(missed) = missing::optional(operation, &exchange) {
        format!("`{}` requires `{missed}`, which is documented as optional", operation.name)
    } else {
        return Some(exchange);
    };
    cases.skip(Skip::NoFixture(why));
    None
}

/// Whether a failure has one of these codes and names the parameter in its details or its message.
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

/// Whether `name` is the parameter or a part of it: `tags[0]` of `tags`.
fn is_in(name: &str, parameter: &str) -> bool {
    name.strip_prefix(parameter).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Whether a successful call is harmless: it names a missing item, or it only creates or reads.
fn is_harmless(operation: &Operation) -> bool {
    match operation.category {
        Some(Category::Create) => true,
        Some(Category::Read) => operation.is_read(),
        _ => operation.required().any(|parameter| is_identifier(&parameter.name)),
    }
}

/// The reason to skip a generated value that was rejected for rules that introspection cannot express.
fn unfit(operation: &Operation) -> Skip {
    Skip::NoFixture(format!(
        "values that `{name}` accepts: generated ones were rejected, add some under [params.{name}]",
        name = operation.name
    ))
}

/// The subject of a finding: an operation and one of its parameters.
fn subject(operation: &Operation, parameter: &Parameter) -> String {
    format!("{}: {}", operation.name, parameter.name)
}
