//! Checks of sorting.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::is_field;
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{all_items, having, is_refused, refused_with};
use crate::checks::planned::{PlannedCall, invalid_calls};
use crate::pages;
use crate::run::{Run, do_all};

/// Maximum number of sort fields to try.
const MAX_SORT_FIELDS: usize = 8;

/// Plans calls that sort by an unknown field, and by a known field in an unknown order.
pub(super) fn unknown_orders<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let calls = having(run, "sort", cases).into_iter().flat_map(|operation| {
        let known = operation.examples_of("sort").find_map(|sort| sort.get("field"));
        let wrong_order = known.map(|field| json!({ "field": field, "order": "sideways" }));
        let sorts = [Some(json!({ "field": "conformance_probe" })), wrong_order];
        let sorts: Vec<_> =
            sorts.into_iter().flatten().map(|sort| json!({ "sort": sort })).collect();
        invalid_calls(run, vec![operation], "sort", &sorts, cases)
    });
    calls.collect()
}

pub(super) async fn sort_applied(run: &Run, cases: &Cases) {
    let jobs = having(run, "sort", cases).into_iter().map(|operation| async move {
        let Some((params, items)) = all_items(run, operation, cases).await else { return };
        let mut tested = 0;
        for field in fields_to_sort_by(operation, &items) {
            let sorted = |order: &str| {
                let mut params = params.clone();
                params.insert("sort".to_owned(), json!({ "field": field, "order": order }));
                params
            };
            let Some(first) = run.call(operation, sorted("asc"), cases).await else { return };
            if first.failure().is_some() {
                // Adapters may reject some fields as sort fields.
                continue;
            }
            let Some(up) = pages::all(run, operation, sorted("asc"), cases).await else { return };
            let Some(down) = pages::all(run, operation, sorted("desc"), cases).await else {
                return;
            };
            tested += 1;
            let (up, mut down) = (runs(&up, &field), runs(&down, &field));
            down.reverse();
            // The order of strings depends on the language, so any consistent order passes.
            let is_ordered = is_ordered(&up) && up == down;
            cases.expect(is_ordered, || {
                Finding::of(&first, format!("{}: sort by {field}", operation.name)).expected(
                    format!(
                        "items ordered by `{field}`, with equal values next to each other, and in \
                         the reverse order with `desc`"
                    ),
                )
            });
        }
        if tested == 0 {
            cases.skip_scarce(format!(
                "a field by which `{}` sorts, and at least two items",
                operation.name
            ));
        }
    });
    do_all(jobs).await;
}

/// Returns `true` if a value names a field and an order together, in one object or in one string.
///
/// ```json
/// { "field": "title", "order": "asc" }
/// { "title": "asc" }
/// "title asc"
/// ```
fn names_order(value: &Value, field: &str, order: &str) -> bool {
    match value {
        Value::Object(members) => {
            let has = |wanted: &str| members.values().any(|member| member == wanted);
            (has(field) && has(order))
                || members.get(field).is_some_and(|reported| reported == order)
                || members.values().any(|member| names_order(member, field, order))
        }
        Value::Array(items) => items.iter().any(|item| names_order(item, field, order)),
        Value::String(text) => text.contains(field) && text.contains(order),
        _ => false,
    }
}

pub(super) async fn applied_controls(run: &Run, cases: &Cases) {
    let jobs = having(run, "sort", cases).into_iter().map(|operation| async move {
        let Some((params, items)) = all_items(run, operation, cases).await else { return };
        for field in fields_to_sort_by(operation, &items).into_iter().take(1) {
            for order in ["asc", "desc"] {
                let mut params = params.clone();
                params.insert("sort".to_owned(), json!({ "field": field, "order": order }));
                let Some(exchange) = run.call(operation, params, cases).await else { return };
                let Some(Value::Object(data)) = exchange.data() else { return };
                let mut reported =
                    data.iter().filter(|(name, _)| !matches!(name.as_str(), "items" | "edges"));
                let meta = exchange.body().and_then(|body| body.get("_meta"));
                let is_reported = reported.any(|(_, value)| names_order(value, &field, order))
                    || meta.is_some_and(|meta| names_order(meta, &field, order));
                cases.expect(is_reported, || {
                    Finding::of(&exchange, format!("{}: sort by {field}, {order}", operation.name))
                        .expected(format!(
                            "the field `{field}` and the order `{order}` next to the items"
                        ))
                });
            }
        }
    });
    do_all(jobs).await;
}

/// Returns the fields to sort by, those from examples first.
fn fields_to_sort_by(operation: &Operation, items: &[Value]) -> Vec<String> {
    let in_examples = operation
        .examples_of("sort")
        .filter_map(|sort| sort.get("field")?.as_str().map(str::to_owned));
    let mut fields: Vec<String> = in_examples.collect();
    for name in items.iter().filter_map(Value::as_object).flat_map(Map::keys) {
        if !fields.contains(name) {
            fields.push(name.clone());
        }
    }
    fields.retain(|field| runs(items, field).len() > 1);
    // Each field is sorted in two orders.
    fields.truncate(pages::affordable_choices(items.len(), 2, MAX_SORT_FIELDS));
    fields
}

/// Returns the values of a field in the order of the items, with adjacent equal values merged.
pub(super) fn runs(items: &[Value], field: &str) -> Vec<Value> {
    let mut runs: Vec<Value> = items
        .iter()
        .filter_map(|item| item.get(field))
        .filter(|value| !value.is_null() && !value.is_array() && !value.is_object())
        .cloned()
        .collect();
    runs.dedup();
    runs
}

/// Returns `true` if no value occurs twice and numbers increase.
pub(super) fn is_ordered(runs: &[Value]) -> bool {
    let grow = runs.windows(2).all(|pair| match pair {
        [Value::Number(one), Value::Number(other)] => {
            one.as_f64().partial_cmp(&other.as_f64()) == Some(Ordering::Less)
        }
        _ => true,
    });
    let different: std::collections::BTreeSet<_> = runs.iter().map(Value::to_string).collect();
    grow && different.len() == runs.len()
}

/// Words in descriptions of `sort` other than field names.
const SORT_WORDS: [&str; 5] = ["field", "order", "sort", "list", "default"];

/// Returns the fields listed in the description of `sort`.
///
/// They are the words after `Fields:`, or all words of the description if it has no such list.
pub(super) fn sortable(operation: &Operation) -> Vec<&str> {
    let sort = operation.parameter("sort");
    let description = sort.and_then(|sort| sort.member("description")?.as_str());
    let description = description.unwrap_or_default();
    let list = description.split_once("Fields:").map(|(_, list)| list);
    let text = list.map_or(description, |list| list.split(". ").next().unwrap_or(list));
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')))
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty() && (list.is_some() || !SORT_WORDS.contains(word)))
        .collect()
}

pub(super) async fn sort_fields(run: &Run, cases: &Cases) {
    let jobs = having(run, "sort", cases).into_iter().map(|operation| async move {
        let Some((_, items)) = all_items(run, operation, cases).await else { return };
        let listed = sortable(operation);
        let names: std::collections::BTreeSet<_> =
            items.iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
        let is_listed = |name: &str| listed.contains(&name);
        if !names.iter().any(|name| is_listed(name)) {
            return cases.skip_scarce(format!(
                "the description of `sort` of `{}` names no field of its items",
                operation.name
            ));
        }
        for name in names.into_iter().filter(|name| is_field(name)) {
            let more = [("sort", json!({ "field": name }))];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            cases.expect(is_refused(&exchange) != is_listed(name), || {
                Finding::of(&exchange, format!("{}: sort by {name}", operation.name)).expected(
                    match is_listed(name) {
                        true => "a success, because the description lists the field",
                        false => {
                            "a VALIDATION failure, because the description does not list the field"
                        }
                    },
                )
            });
        }
    });
    do_all(jobs).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_ordered_values() {
        let items = |values: &[i64]| values.iter().map(|at| json!({ "n": at })).collect::<Vec<_>>();
        assert!(is_ordered(&runs(&items(&[1, 1, 2, 3]), "n")));
        assert!(!is_ordered(&runs(&items(&[1, 2, 1]), "n")));
        assert!(!is_ordered(&runs(&items(&[3, 2, 1]), "n")));
        let words = [json!({ "n": "todo" }), json!({ "n": "done" }), json!({ "n": null })];
        assert!(is_ordered(&runs(&words, "n")));
        assert!(!is_ordered(&runs(&[words[0].clone(), words[1].clone(), words[0].clone()], "n")));
    }
}
