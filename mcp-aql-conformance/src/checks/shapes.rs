//! Checks of the form of results of all operations.

use serde_json::{Map, Value};

use super::{Body, Check, of_level_1 as check, should};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::forms::{self, Form, may, must};
use crate::items::{self, Field};
use crate::run::Run;
use crate::values;

pub(super) const CHECKS: &[Check] = &[
    check(
        "shapes.union",
        "Every result has the boolean `success`",
        &["REQ-RSP-01"],
        Body::Every(union),
    ),
    check(
        "shapes.success",
        "A success has `data`, no `error` and no unknown members",
        &["REQ-RSP-02", "REQ-RSP-05"],
        Body::Every(success),
    ),
    check(
        "shapes.failure",
        "A failure has `error`, no `data` and no unknown members",
        &["REQ-RSP-03", "REQ-RSP-06", "REQ-RSP-07"],
        Body::Every(failure),
    ),
    check(
        "shapes.meta",
        "`_meta` of a success, if present, has the form of the protocol",
        &["REQ-RSP-08", "REQ-RSP-09"],
        Body::Every(meta),
    ),
    check(
        "shapes.warnings",
        "`warnings` of a success, if present, have the form of the protocol",
        &["REQ-WRN-01", "REQ-WRN-02"],
        Body::Every(warnings),
    ),
    should(check(
        "shapes.warnings_order",
        "A result has at most 10 unique warnings, ordered by severity",
        &["REQ-WRN-04", "REQ-WRN-10", "REQ-WRN-11"],
        Body::Every(warnings_order),
    )),
    should(check(
        "shapes.collection_items",
        "A list is in `data.items`",
        &["REQ-RSP-11"],
        Body::Every(collection_items),
    )),
    should(check(
        "shapes.single_wrapped",
        "A single item is in `data` under the name of its resource",
        &["REQ-RSP-11"],
        Body::Every(single_wrapped),
    )),
    should(check(
        "shapes.as_typed",
        "Results have the fields of the documented type, and created items have no others",
        &["REQ-INT-22", "REQ-INT-20"],
        Body::Every(as_typed),
    )),
    check(
        "shapes.dates",
        "Dates and instants in results have the format of ISO 8601",
        &["REQ-ENC-03"],
        Body::Every(dates),
    ),
    should(check(
        "shapes.instants",
        "Instants in results are in UTC and end with Z",
        &["REQ-ENC-04"],
        Body::Every(instants),
    )),
    should(check(
        "shapes.big_numbers",
        "Numbers beyond 9007199254740991 are sent as text",
        &["REQ-ENC-05"],
        Body::Every(big_numbers),
    )),
    check(
        "shapes.confirmation_mirror",
        "`confirmation` of a failure, if present, agrees with its details",
        &["REQ-RSP-10"],
        Body::Every(confirmation_mirror),
    ),
];

/// The largest integer that all JSON parsers represent exactly.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_991.0;
/// The maximum number of warnings.
const MAX_WARNINGS: usize = 10;

/// Whether a call is a batch.
pub(super) fn is_batch(exchange: &Exchange) -> bool {
    exchange.arguments.get("operations").is_some()
}

/// The operation results in a reply with their operations: the reply's own one, and those of the items of a
/// batch.
pub(super) fn results(exchange: &Exchange) -> Vec<(&str, &Value)> {
    let Some(body) = exchange.body() else { return Vec::new() };
    let items = body.get("results").filter(|_| is_batch(exchange)).and_then(Value::as_array);
    let halted = body.get("halted_at").filter(|_| is_batch(exchange));
    let items = items.into_iter().flatten().chain(halted).filter_map(|item| {
        let operation = item.get("operation").and_then(Value::as_str).unwrap_or_default();
        Some((operation, item.get("result")?))
    });
    std::iter::once((exchange.operation(), body)).chain(items).collect()
}

/// The subject of a finding: the operation, or the tool if the call names none.
pub(super) fn subject(exchange: &Exchange) -> &str {
    match exchange.operation() {
        "" if is_batch(exchange) => "a batch",
        "" => &exchange.tool,
        operation => operation,
    }
}

/// The result of a success.
fn of_success(exchange: &Exchange) -> Option<&Value> {
    exchange.body().filter(|_| exchange.succeeded())
}

/// The result of a failure.
fn of_failure(exchange: &Exchange) -> Option<&Value> {
    exchange.body().filter(|body| body.get("success") == Some(&Value::Bool(false)))
}

fn union(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(body) = exchange.body() else { return };
    cases.expect(body.get("success").is_some_and(Value::is_boolean), || {
        Finding::of(
            exchange,
            subject(exchange),
            "an object with `success`: true or false",
            "return {\"success\": true, \"data\": …} or {\"success\": false, \"error\": …}",
        )
    });
}

fn success(_: &Run, exchange: &Exchange, cases: &Cases) {
    const SUCCESS: Form = Form::Object(&[
        must("success", Form::Just(true)),
        must("data", Form::Any),
        may("warnings", Form::Any),
        may("_meta", Form::Any),
        may("results", Form::Any),
        may("summary", Form::Any),
    ]);
    const BATCH: Form = Form::Object(&[
        must("success", Form::Just(true)),
        must("data", Form::Any),
        may("warnings", Form::Any),
        may("_meta", Form::Any),
        may("results", Form::Any),
        may("summary", Form::Any),
        may("halted_at", Form::Any),
        may("pending_operations", Form::Any),
    ]);
    let Some(body) = of_success(exchange) else { return };
    let form = if is_batch(exchange) { BATCH } else { SUCCESS };
    form.check(body, cases, |reported| {
        Finding::of(
            exchange,
            subject(exchange),
            reported,
            "return `data`, which may be null, in a success, and put other members into `data` or `_meta`",
        )
    });
}

fn failure(_: &Run, exchange: &Exchange, cases: &Cases) {
    const FAILURE: Form = Form::Object(&[
        must("success", Form::Just(false)),
        must("error", Form::Open(&[must("code", Form::Any), must("message", Form::Any)])),
        may("confirmation", Form::Any),
        may("deprecated", Form::Any),
        may("deprecationMessage", Form::Any),
        may("deprecatedSince", Form::Any),
        may("removalVersion", Form::Any),
    ]);
    let Some(body) = of_failure(exchange) else { return };
    FAILURE.check(body, cases, |reported| {
        Finding::of(
            exchange,
            subject(exchange),
            reported,
            "return {\"success\": false, \"error\": {\"code\": …, \"message\": …}}, and put other members into \
             `error.details`",
        )
    });
}

fn meta(_: &Run, exchange: &Exchange, cases: &Cases) {
    const META: Form =
        Form::Open(&[may("request_id", Form::Text), may("duration_ms", Form::AtLeast(0.0))]);
    let Some(body) = of_success(exchange) else { return };
    let Some(meta) = body.get("_meta") else {
        return cases.not_applicable("no result has `_meta`, which is optional");
    };
    META.check(meta, cases, |reported| {
        Finding::of(
            exchange,
            subject(exchange),
            format!("`_meta` as an object: {reported}"),
            "make `_meta.request_id` a string and `_meta.duration_ms` a number that is not negative",
        )
    });
}

const NO_WARNINGS: &str = "no result has `warnings`, which are optional";

const SEVERITIES: [&str; 3] = ["high", "medium", "low"];

fn warnings(_: &Run, exchange: &Exchange, cases: &Cases) {
    const WARNINGS: Form = Form::List(&Form::Object(&[
        must("code", forms::CODE),
        must("message", Form::Word),
        may("details", Form::Open(&[])),
        may("severity", Form::OneOf(&SEVERITIES)),
    ]));
    let Some(body) = of_success(exchange) else { return };
    let Some(warnings) = body.get("warnings") else {
        return cases.not_applicable(NO_WARNINGS);
    };
    WARNINGS.check(warnings, cases, |reported| {
        Finding::of(
            exchange,
            subject(exchange),
            format!("`warnings` as a list: {reported}"),
            "return `code` and `message` in each warning, and optionally `details` and `severity`: \
             low, medium or high",
        )
    });
}

fn warnings_order(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(body) = of_success(exchange) else { return };
    let Some(Value::Array(warnings)) = body.get("warnings") else {
        return cases.not_applicable(NO_WARNINGS);
    };
    let ranks: Vec<_> = warnings
        .iter()
        .map(|warning| {
            let severity = warning.get("severity").and_then(Value::as_str).unwrap_or("medium");
            SEVERITIES.iter().position(|known| *known == severity)
        })
        .collect();
    let are_sorted = ranks.is_sorted();
    let are_few = warnings.len() <= MAX_WARNINGS;
    let are_unique = !warnings
        .iter()
        .enumerate()
        .any(|(index, warning)| warnings.iter().take(index).any(|earlier| earlier == warning));
    cases.expect(are_sorted && are_few && are_unique, || {
        Finding::of(
            exchange,
            subject(exchange),
            format!(
                "at most {MAX_WARNINGS} warnings, each once, ordered high, medium, low; there are {}",
                warnings.len()
            ),
            "sort warnings by `severity`, remove duplicates, and keep the first ten",
        )
    });
}

/// The called operation if it is a READ operation whose name starts with one of these verbs.
fn called<'a>(run: &'a Run, exchange: &'a Exchange, verbs: &[&str]) -> Option<&'a str> {
    let operation = run.adapter.operation(exchange.operation())?;
    let (verb, thing) = operation.name.split_once('_')?;
    let fits = operation.category == Some(Category::Read) && verbs.contains(&verb);
    fits.then_some(thing)
}

fn collection_items(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(data) = of_success(exchange).and_then(|body| body.get("data")) else { return };
    if called(run, exchange, &["list", "search"]).is_none() || is_batch(exchange) {
        return;
    }
    // A request may only ask for aggregations.
    if data.get("aggregations").is_some() {
        return;
    }
    let is_there =
        ["items", "edges"].iter().any(|name| data.get(name).is_some_and(Value::is_array));
    cases.expect(is_there, || {
        Finding::of(
            exchange,
            exchange.operation(),
            "a list in `data.items`",
            "put the items of every list into `data.items`",
        )
    });
}

fn single_wrapped(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(Value::Object(data)) = of_success(exchange).and_then(|body| body.get("data")) else {
        return;
    };
    let Some(thing) = called(run, exchange, &["get"]) else { return };
    // The protocol defines another form for executions.
    if data.contains_key("execution_id") && data.contains_key("status") {
        return;
    }
    const NEUTRAL: [&str; 6] = ["result", "results", "response", "value", "item", "object"];
    let is_only = data.len() == 1 && !NEUTRAL.iter().any(|name| data.contains_key(*name));
    cases.expect(is_only || data.contains_key(thing), || {
        Finding::of(
            exchange,
            exchange.operation(),
            format!("the item under its own name, {{\"{thing}\": {{…}}}} in `data`"),
            format!("put the item into `data.{thing}`"),
        )
    });
}

/// Removes members that are null, which may stand for absent fields.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(name, member)| (name.clone(), without_nulls(member)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// The reason why an object does not have this type. `is_undocumented` decides about members that the type
/// does not list.
fn misfit(
    object: &Map<String, Value>,
    fields: &[Field<'_>],
    is_undocumented: impl Fn(&str) -> bool,
) -> Option<String> {
    for field in fields {
        let name = field.name;
        match object.get(name) {
            None if field.shape.is_required() => return Some(format!("`{name}` is missing")),
            Some(value)
                if !(value.is_null() && !field.shape.is_required()
                    || field.shape.accepts(value)
                    || field.shape.accepts(&without_nulls(value))) =>
            {
                return Some(format!("`{name}` has another form"));
            }
            _ => {}
        }
    }
    object
        .keys()
        .filter(|name| !name.starts_with('_') && fields.iter().all(|field| field.name != *name))
        .find(|name| is_undocumented(name))
        .map(|name| format!("the type has no field `{name}`"))
}

fn as_typed(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(data) = of_success(exchange).and_then(|body| body.get("data")) else { return };
    let Some(operation) = run.adapter.operation(exchange.operation()) else { return };
    // These parameters select the returned fields.
    let is_chosen =
        ["fields", "preset", "aggregate"].iter().any(|name| operation.parameter(name).is_some());
    if is_batch(exchange) || is_chosen || operation.name == "introspect" {
        return;
    }
    let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
    let Some(returned) = returned else { return };
    let fields = items::fields_of(&run.adapter, returned);
    if fields.is_empty() {
        return;
    }
    // A type cannot express that it also contains the entries of a map. The run knows the names of such
    // entries only for items that it creates.
    let is_new = operation.category == Some(Category::Create);
    let is_undocumented =
        |name: &str| is_new && !values::mentions(&exchange.arguments, &Value::from(name));
    let wrapped = data.as_object().into_iter().flat_map(Map::values).filter_map(Value::as_object);
    let candidates: Vec<_> = data.as_object().into_iter().chain(wrapped).collect();
    let in_common = |object: &Map<String, Value>| {
        fields.iter().filter(|field| object.contains_key(field.name)).count()
    };
    // The object that matches the type best, for the finding.
    let nearest = candidates.iter().max_by_key(|object| in_common(object));
    let most = nearest.map_or(0, |object| in_common(object));
    let fits = candidates
        .iter()
        .filter(|object| most == 0 || in_common(object) > 0)
        .any(|object| misfit(object, &fields, is_undocumented).is_none());
    cases.expect(fits, || {
        let why = nearest.and_then(|object| misfit(object, &fields, is_undocumented));
        Finding::of(
            exchange,
            exchange.operation(),
            format!(
                "a {returned} of the documented type; {}",
                why.unwrap_or_else(|| "the result has none".to_owned())
            ),
            "generate the documented type from the returned one",
        )
    });
}

/// Names of members with dates or instants.
const WHEN: [&str; 15] = [
    "closed",
    "completed",
    "created",
    "deleted",
    "expired",
    "expires",
    "finished",
    "issued",
    "modified",
    "opened",
    "published",
    "resets",
    "started",
    "timestamp",
    "updated",
];

/// Whether a member of this name holds a date or an instant.
fn tells_when(name: &str) -> bool {
    match name.strip_suffix("_at").or_else(|| name.strip_suffix("_date")) {
        Some(stem) => WHEN.contains(&stem) || stem == "due",
        None => name == "timestamp",
    }
}

/// Collects all values that are dates or instants by their names, at any depth.
fn whens<'a>(value: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if tells_when(name) && !value.is_null() {
                    found.push((name, value));
                } else {
                    whens(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| whens(item, found)),
        _ => {}
    }
}

const NO_DATES: &str = "no result has a member such as `created_at`";

/// Parses an instant with its offset.
fn instant(text: &str) -> Option<chrono::DateTime<chrono::FixedOffset>> {
    chrono::DateTime::parse_from_rfc3339(text).ok()
}

/// The dates and instants in the data of a call. Details of failures and introspection are excluded because
/// their members are named after parameters.
fn whens_of(exchange: &Exchange) -> Vec<(&str, &Value)> {
    let mut found = Vec::new();
    for (operation, result) in results(exchange) {
        if operation != "introspect"
            && result.get("success") == Some(&Value::Bool(true))
            && let Some(data) = result.get("data")
        {
            whens(data, &mut found);
        }
    }
    found
}

fn dates(_: &Run, exchange: &Exchange, cases: &Cases) {
    let found = whens_of(exchange);
    if found.is_empty() {
        return cases.not_applicable(NO_DATES);
    }
    let wrong = found.iter().find(|(_, value)| {
        let is_iso = value.as_str().is_some_and(|text| {
            instant(text).is_some() || text.parse::<chrono::NaiveDate>().is_ok()
        });
        // Documented types and filters have members of the same names.
        !is_iso && !value.is_object() && !value.is_array()
    });
    cases.expect(wrong.is_none(), || {
        let (name, value) = wrong.copied().unwrap_or(("", &Value::Null));
        Finding::of(
            exchange,
            format!("{}: `{name}`", subject(exchange)),
            format!("`{name}` such as 2031-05-06 or 2031-05-06T07:08:09Z, not {value}"),
            "send dates and instants as ISO 8601 text",
        )
    });
}

fn instants(_: &Run, exchange: &Exchange, cases: &Cases) {
    let found = whens_of(exchange);
    if found.is_empty() {
        return cases.not_applicable(NO_DATES);
    }
    let elsewhere = found.iter().find_map(|(name, value)| {
        let text = value.as_str()?;
        (instant(text).is_some() && !text.ends_with('Z')).then_some((*name, text))
    });
    cases.expect(elsewhere.is_none(), || {
        let (name, text) = elsewhere.unwrap_or_default();
        Finding::of(
            exchange,
            format!("{}: `{name}`", subject(exchange)),
            format!("`{name}` in UTC, with the suffix Z, not {text}"),
            "convert instants to UTC before sending them",
        )
    });
}

fn is_big(value: &Value) -> Option<&Value> {
    match value {
        Value::Number(number) => {
            let is_big = number.as_f64().is_some_and(|number| number.abs() > MAX_EXACT_INTEGER);
            is_big.then_some(value)
        }
        Value::Object(members) => members.values().find_map(is_big),
        Value::Array(items) => items.iter().find_map(is_big),
        _ => None,
    }
}

fn big_numbers(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(data) = of_success(exchange).and_then(|body| body.get("data")) else { return };
    let big = is_big(data);
    cases.expect(big.is_none(), || {
        Finding::of(
            exchange,
            subject(exchange),
            format!(
                "numbers up to 9007199254740991, not {}",
                big.map(ToString::to_string).unwrap_or_default()
            ),
            "send such numbers as text, and document that in the type's description: many parsers round them",
        )
    });
}

fn confirmation_mirror(_: &Run, exchange: &Exchange, cases: &Cases) {
    const MIRROR: Form = Form::Object(&[
        must("token", Form::Word),
        must("expires_at", Form::Word),
        may("message", Form::Text),
        may("reasons", Form::List(&Form::Text)),
    ]);
    let Some(body) = of_failure(exchange) else { return };
    let Some(mirror) = body.get("confirmation") else {
        return cases.not_applicable("no failure has `confirmation`, which is optional");
    };
    let details = body.pointer("/error/details");
    let is_same = |mirrored: &str, detail: &str| {
        let detail = details.and_then(|details| details.get(detail));
        mirror.get(mirrored) == detail
    };
    let is_whole = MIRROR.fits(mirror);
    let agrees = is_same("token", "confirmation_token") && is_same("expires_at", "expires_at");
    cases.expect(is_whole && agrees, || {
        Finding::of(
            exchange,
            subject(exchange),
            "`confirmation` with `token` and `expires_at` as in `error.details`, with only `message` and \
             `reasons` as further members",
            "copy `confirmation_token` and `expires_at` of the details, or omit `confirmation`",
        )
    });
}
