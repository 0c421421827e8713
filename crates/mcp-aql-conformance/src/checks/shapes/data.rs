//! Checks of the member `data` of results.

use serde_json::{Map, Value};

use super::{is_batch, of_success};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::items::{self, Field};
use crate::nouns::{is_identifier, singular, thing_of};
use crate::run::Run;
use crate::values;

/// Returns the noun in the name of the called operation, if it is a READ operation and its name starts with one of
/// these verbs.
///
/// ```text
/// verbs ["get"]: get_bed  →  bed
/// ```
fn called<'a>(run: &'a Run, exchange: &'a Exchange, verbs: &[&str]) -> Option<&'a str> {
    let operation = run.adapter.operation(exchange.operation())?;
    let (verb, thing) = operation.name.split_once('_')?;
    let fits = operation.category == Some(Category::Read) && verbs.contains(&verb);
    fits.then_some(thing)
}

pub(super) fn collection_items(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(data) = of_success(exchange).and_then(|body| body.get("data")) else { return };
    if called(run, exchange, &["list", "search"]).is_none() || is_batch(exchange) {
        return;
    }
    // A reply to a request for aggregations need not have items.
    let asks_for_sums = exchange.arguments.pointer("/params/aggregate").is_some();
    if data.get("aggregations").is_some() || asks_for_sums {
        return;
    }
    let is_there =
        ["items", "edges"].iter().any(|name| data.get(name).is_some_and(Value::is_array));
    cases.expect(is_there, || Finding::of(exchange, exchange.operation()));
}

/// Returns `true` if an operation returns one item.
///
/// Such an operation requires an identifier, or other operations or a listed type are named after the same resource. In
/// contrast, `get_capabilities` and `get_build_info` return reports.
fn reads_one(run: &Run, operation: &str, thing: &str) -> bool {
    let operations = &run.adapter.operations;
    let is_named_alike = || {
        let things = operations.iter().filter(|it| it.name != operation);
        things.filter_map(|it| thing_of(&it.name)).any(|it| it == singular(thing))
    };
    let own = run.adapter.operation(operation);
    let type_name = singular(thing).replace('_', "");
    own.is_some_and(|it| it.required().any(|parameter| is_identifier(&parameter.name)))
        || is_named_alike()
        || run.adapter.types.iter().any(|it| it.name.eq_ignore_ascii_case(&type_name))
}

pub(super) fn single_wrapped(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(Value::Object(data)) = of_success(exchange).and_then(|body| body.get("data")) else {
        return;
    };
    let Some(thing) = called(run, exchange, &["get"]) else { return };
    if !reads_one(run, exchange.operation(), thing) {
        return;
    }
    // Executions have a form of their own in the protocol.
    if data.contains_key("execution_id") && data.contains_key("status") {
        return;
    }
    const NEUTRAL: [&str; 6] = ["result", "results", "response", "value", "item", "object"];
    // The fields of the item may also be in `data` itself, as in the normative example of §5.2.
    let is_hidden = NEUTRAL.iter().any(|name| data.get(*name).is_some_and(Value::is_object));
    cases.expect(!is_hidden || data.contains_key(thing), || {
        Finding::of(exchange, exchange.operation())
            .expected(format!(
                "the item under its own name, {{\"{thing}\": {{…}}}} in `data`, or its fields in \
                 `data`"
            ))
            .fix(format!("put the item into `data.{thing}`"))
    });
}

/// Removes members with the value null, because they may stand for absent fields.
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

/// Returns the reason why an object does not have this type.
///
/// A member without a field in the type is only a mistake if `is_undocumented` returns `true` for its name.
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

pub(super) fn as_typed(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(data) = of_success(exchange).and_then(|body| body.get("data")) else { return };
    let Some(operation) = run.adapter.operation(exchange.operation()) else { return };
    // A caller can choose the returned fields with these parameters, so a result may lack required fields.
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
    // A type cannot express that an object also contains the entries of a map. The run only knows the names of such
    // entries for items that it creates.
    let is_new = operation.category == Some(Category::Create);
    let is_undocumented =
        |name: &str| is_new && !values::mentions(&exchange.arguments, &Value::from(name));
    let wrapped = data.as_object().into_iter().flat_map(Map::values).filter_map(Value::as_object);
    let candidates: Vec<_> = data.as_object().into_iter().chain(wrapped).collect();
    let in_common = |object: &Map<String, Value>| {
        fields.iter().filter(|field| object.contains_key(field.name)).count()
    };
    // The finding shows the object that matches the type best.
    let nearest = candidates.iter().max_by_key(|object| in_common(object));
    let most = nearest.map_or(0, |object| in_common(object));
    let fits = candidates
        .iter()
        .filter(|object| most == 0 || in_common(object) > 0)
        .any(|object| misfit(object, &fields, is_undocumented).is_none());
    cases.expect(fits, || {
        let why = nearest.and_then(|object| misfit(object, &fields, is_undocumented));
        Finding::of(exchange, exchange.operation()).expected(format!(
            "a result of the documented type {returned}; {}",
            why.unwrap_or_else(|| "the result has none".to_owned())
        ))
    });
}
