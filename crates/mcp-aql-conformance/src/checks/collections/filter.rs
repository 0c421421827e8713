//! Checks of filters and their keys.

use serde_json::{Map, Value, json};

use super::is_field;
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{all_items, having, is_refused, refused_with};
use crate::checks::planned::{PlannedCall, invalid_calls};
use crate::pages;
use crate::run::{Run, do_all};
use crate::shape::Shape;

/// Plans calls with a filter whose key no item has:
///
/// ```json
/// { "filter": { "conformance_probe": 1 } }
/// ```
pub(super) fn unknown_key<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let filter = json!({ "filter": { "conformance_probe": 1 } });
    invalid_calls(run, having(run, "filter", cases), "filter", &[filter], cases)
}

/// Returns the filter keys documented by introspection.
pub(super) fn filter_fields<'a>(run: &'a Run, operation: &'a Operation) -> Vec<Shape<'a>> {
    let filter = operation.parameter("filter");
    filter.map(|filter| Shape::of(&run.adapter, filter).fields()).unwrap_or_default()
}

/// Returns the filter keys documented by introspection that accept plain values.
pub(super) fn keys<'a>(run: &'a Run, operation: &'a Operation) -> Vec<Shape<'a>> {
    let fields = filter_fields(run, operation);
    let is_plain = |word: &str| ["string", "integer", "number", "boolean"].contains(&word);
    fields.into_iter().filter(|key| is_plain(key.word()) || key.words().is_some()).collect()
}

pub(super) async fn filter_applied(run: &Run, cases: &Cases) {
    let jobs = having(run, "filter", cases).into_iter().map(|operation| async move {
        let Some((params, items)) = all_items(run, operation, cases).await else { return };
        if items.is_empty() {
            return cases.skip_without(format!("`{}` returns no items", operation.name));
        }
        let keys = keys(run, operation);
        if keys.is_empty() && filter_fields(run, operation).is_empty() {
            // A filter without a named type describes its keys in prose only. Usually they are fields of the items.
            let names = items.first().and_then(Value::as_object).into_iter().flatten();
            for (name, _) in names.filter(|(_, value)| !value.is_array() && !value.is_object()) {
                filter_by(run, operation, &params, &items, name, cases).await;
            }
        }
        for name in keys.into_iter().filter_map(Shape::name) {
            filter_by(run, operation, &params, &items, name, cases).await;
        }
    });
    do_all(jobs).await;
}

/// Filters by the item field with the name of the key.
async fn filter_by(
    run: &Run,
    operation: &Operation,
    params: &Map<String, Value>,
    items: &[Value],
    name: &str,
    cases: &Cases,
) {
    let value_of = |item: &Value| -> Option<Value> {
        pages::at(item, name).filter(|value| !value.is_null()).cloned()
    };
    let values: Vec<_> = items.iter().filter_map(value_of).collect();
    // A value that only some items have tests the filter better.
    let wanted = values.iter().find(|value| values.iter().any(|other| other != *value));
    let Some(wanted) = wanted.or(values.first()) else { return };
    let mut params = params.clone();
    params.insert("filter".to_owned(), json!({ name: wanted }));
    if is_refused_by_nature(operation, name) {
        return;
    }
    let Some(found) = filtered(run, operation, params, cases).await else { return };
    let (found, exchange) = found;
    let matching = items.iter().filter(|item| value_of(item).as_ref() == Some(wanted)).count();
    let hits = found.iter().filter(|item| value_of(item).as_ref() == Some(wanted)).count();
    let strays = found.iter().filter(|item| !may_match(value_of(item).as_ref(), wanted)).count();
    cases.expect_success(&exchange, hits == matching && strays == 0, || {
        Finding::of(&exchange, format!("{}: filter.{name}", operation.name)).expected(format!(
            "the {matching} items whose `{name}` is {wanted}; the reply has {hits} of them, and \
             {strays} items that do not match"
        ))
    });
}

/// Returns `true` if a rejection is acceptable, because the keys of a filter without a named type are unknown.
fn is_refused_by_nature(operation: &Operation, name: &str) -> bool {
    name.contains('/') || operation.parameter("filter").is_none_or(|filter| filter.kind == "any")
}

pub(super) async fn filtered<'r>(
    run: &'r Run,
    operation: &Operation,
    mut params: Map<String, Value>,
    cases: &Cases,
) -> Option<(pages::Items<'r>, Exchange)> {
    let has_type = operation.parameter("filter").is_some_and(|filter| filter.kind != "object");
    let first = run.call(operation, params.clone(), cases).await?;
    if is_refused(&first) && !has_type {
        return None;
    }
    if first.failure().is_some() {
        return Some((pages::Items::default(), first));
    }
    if !params.contains_key("fields") && operation.parameter("fields").is_some() {
        params.insert("fields".to_owned(), json!("full"));
    }
    let items = pages::all(run, operation, params, cases).await?;
    Some((items, first))
}

/// Returns `true` if a filter may select an item with this value. Adapters may use other string comparisons than
/// equality.
pub(super) fn may_match(value: Option<&Value>, wanted: &Value) -> bool {
    match (value, wanted) {
        (Some(Value::String(text)), Value::String(wanted)) => {
            text.to_lowercase().contains(&wanted.to_lowercase())
        }
        (value, wanted) => value == Some(wanted),
    }
}

/// Returns the first value of a field in the items. For a list, returns its first entry.
fn value_in<'v>(items: &'v [Value], path: &str) -> Option<&'v Value> {
    let plain = |value: &'v Value| match value {
        Value::Array(entries) => entries.first(),
        other => Some(other),
    };
    items
        .iter()
        .filter_map(|item| plain(pages::at(item, path)?))
        .find(|value| value.is_string() || value.is_number() || value.is_boolean())
}

/// Reads all items of a list with all their fields, including the documented computed fields.
async fn whole_items<'r>(
    run: &'r Run,
    operation: &Operation,
    cases: &Cases,
) -> Option<Vec<pages::Items<'r>>> {
    let (mut params, items) = all_items(run, operation, cases).await?;
    let mut found = vec![items];
    let computed = operation.details().get("computed_fields").and_then(Value::as_array);
    let names: Vec<_> = computed
        .into_iter()
        .flatten()
        .filter_map(|field| Some(format!("_computed.{}", field.get("name")?.as_str()?)))
        .collect();
    if !names.is_empty() && operation.parameter("fields").is_some() {
        params.insert("fields".to_owned(), json!(names));
        found.push(pages::all(run, operation, params, cases).await?);
    }
    Some(found)
}

pub(super) async fn filter_keys(run: &Run, cases: &Cases) {
    let operations = having(run, "filter", cases).into_iter();
    let operations = cases.some_or_not_applicable(
        operations.filter(|operation| !filter_fields(run, operation).is_empty()),
        "no type of a `filter` lists its keys",
    );
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(found) = whole_items(run, operation, cases).await else { return };
        let fields = filter_fields(run, operation);
        let listed: Vec<_> = fields.into_iter().filter_map(Shape::name).collect();
        let value_of = |name: &str| found.iter().find_map(|items| value_in(items, name));
        let others: Vec<_> = found
            .iter()
            .flat_map(|items| items.iter().filter_map(Value::as_object).flat_map(Map::keys))
            .map(String::as_str)
            .filter(|name| is_field(name) && !listed.contains(name))
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect();
        let tried: Vec<_> = [(listed, true), (others, false)]
            .into_iter()
            .flat_map(|(names, is_listed)| names.into_iter().map(move |name| (name, is_listed)))
            .filter_map(|(name, is_listed)| Some((name, is_listed, value_of(name)?)))
            .collect();
        if tried.is_empty() {
            return cases.skip_scarce(format!("`{}` returns no items", operation.name));
        }
        for (name, is_listed, value) in tried {
            let more = [("filter", json!({ name: value }))];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            cases.expect(is_refused(&exchange) != is_listed, || {
                Finding::of(&exchange, format!("{}: filter.{name}", operation.name)).expected(
                    match is_listed {
                        true => "a success, because introspection lists the key",
                        false => {
                            "a VALIDATION failure, because introspection does not list the key"
                        }
                    },
                )
            });
        }
    });
    do_all(jobs).await;
}
