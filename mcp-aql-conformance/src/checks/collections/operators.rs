//! The operators of filters, as the published type of the filter names them.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::{filter_fields, filtered, having, params_with};
use crate::cases::{Cases, Finding, Skip};
use crate::learn::Operation;
use crate::pages;
use crate::run::{Run, do_all};
use crate::values::Shape;

/// The maximum number of keys of a filter that are compared.
const MAX_KEYS: usize = 4;

/// The operators that the description of a key names.
fn operators<'a>(key: Shape<'a>) -> Vec<&'a str> {
    let (_, list) = key.description().split_once("Operators:").unwrap_or_default();
    let list = list.split('.').next().unwrap_or_default();
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// How two values of one field compare, where they have one order everywhere: numbers, and days and
/// instants of one form.
fn compared(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64()?.partial_cmp(&other.as_f64()?),
        (Value::String(one), Value::String(other)) => {
            let day = |text: &str| text.parse::<chrono::NaiveDate>().ok();
            let instant = |text: &str| chrono::DateTime::parse_from_rfc3339(text).ok();
            match day(one).zip(day(other)) {
                Some((one, other)) => Some(one.cmp(&other)),
                None => instant(one).zip(instant(other)).map(|(one, other)| one.cmp(&other)),
            }
        }
        _ => None,
    }
}

/// Whether a value is one that an operator lets through; nothing where that is not certain.
fn passes(operator: &str, value: &Value, wanted: &Value) -> Option<bool> {
    let order = || compared(value, wanted);
    Some(match operator {
        "eq" | "in" => value == wanted,
        "ne" | "nin" => value != wanted,
        "gt" => order()? == Ordering::Greater,
        "gte" => order()? != Ordering::Less,
        "lt" => order()? == Ordering::Less,
        "lte" => order()? != Ordering::Greater,
        _ => return None,
    })
}

/// A filter, and which items it must let through by their values of a field; nothing where that is not certain.
struct Case {
    filter: Value,
    expected: Vec<Option<bool>>,
}

/// The filters of a key: one for each operator, and one for several values at once.
fn cases_of(
    name: &str,
    key: Shape<'_>,
    values: &[&Value],
    has_or: bool,
    has_lists: bool,
) -> Vec<Case> {
    let mut distinct: Vec<&Value> = Vec::new();
    for value in values.iter().filter(|value| !value.is_null()) {
        if !distinct.contains(value) {
            distinct.push(value);
        }
    }
    let [one, other, ..] = distinct.as_slice() else { return Vec::new() };
    // One that has values on both sides of it, where there are three.
    let mut middle = distinct.clone();
    middle.sort_by(|one, other| compared(one, other).unwrap_or(Ordering::Equal));
    let wanted = middle.get(middle.len() / 2).copied().unwrap_or(one);
    let expect = |filter: Value, passes: &dyn Fn(&Value) -> Option<bool>| Case {
        filter,
        expected: values
            .iter()
            .map(|value| if value.is_null() { None } else { passes(value) })
            .collect(),
    };
    let mut cases: Vec<Case> = operators(key)
        .into_iter()
        .filter(|operator| passes(operator, wanted, wanted).is_some())
        .map(|operator| {
            let operand = match operator {
                "in" | "nin" => json!([wanted]),
                _ => wanted.clone(),
            };
            expect(json!({ name: { operator: operand } }), &|value| passes(operator, value, wanted))
        })
        .collect();
    let is_either = |value: &Value| Some(value == *one || value == *other);
    if has_lists {
        cases.push(expect(json!({ name: [one, other] }), &is_either));
    }
    if has_or {
        let each = json!([{ name: one }, { name: other }]);
        cases.push(expect(json!({ "or": each }), &is_either));
    }
    cases
}

pub(super) async fn filter_operators(run: &Run, cases: &Cases) {
    let mut operations = having(run, "filter", cases);
    let had_any = !operations.is_empty();
    operations.retain(|operation| {
        filter_fields(run, operation).into_iter().any(|key| !operators(key).is_empty())
    });
    if had_any && operations.is_empty() {
        cases.not_applicable("no type of a `filter` names operators");
    }
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(params) = params_with(run, operation, [], cases) else { return };
        let Some(items) = pages::all(run, operation, params.clone(), cases).await else { return };
        let keys = filter_fields(run, operation);
        let has_or = keys.iter().any(|key| key.name() == Some("or"));
        let filter = operation.parameter("filter");
        let told = filter.and_then(|filter| filter.member("description")?.as_str());
        let has_lists = told.is_some_and(|told| told.contains("a list means any of"));
        let found: Vec<_> = keys
            .into_iter()
            .filter_map(|key| {
                let name = key.name()?;
                let values: Vec<_> = items
                    .iter()
                    .map(|item| pages::at(item, name).unwrap_or(&Value::Null))
                    .collect();
                let is_plain = values.iter().all(|value| !value.is_array() && !value.is_object());
                let cases = cases_of(name, key, &values, has_or, has_lists);
                (is_plain && !cases.is_empty()).then_some((name, cases))
            })
            .take(MAX_KEYS)
            .collect();
        if found.is_empty() {
            return cases.skip(Skip::Scarce(format!(
                "`{}` shows no two items that differ in a key of its filter",
                operation.name
            )));
        }
        for (name, tried) in found {
            for case in tried {
                compare(run, operation, &params, &items, (name, case), cases).await;
            }
        }
    });
    do_all(jobs).await;
}

/// Compares what a filter lets through with what it must.
async fn compare(
    run: &Run,
    operation: &Operation,
    params: &Map<String, Value>,
    items: &[Value],
    (name, case): (&str, Case),
    cases: &Cases,
) {
    let mut params = params.clone();
    params.insert("filter".to_owned(), case.filter.clone());
    let Some((found, exchange)) = filtered(run, operation, params, cases).await else { return };
    let wrong = items
        .iter()
        .zip(&case.expected)
        .filter(|(item, expected)| {
            expected.is_some_and(|expected| expected != found.contains(item))
        })
        .count();
    cases.expect(wrong == 0, || {
        Finding::of(
            &exchange,
            format!("{}: filter.{name}", operation.name),
            format!(
                "the items that {} lets through; {wrong} of {} are there or missing by mistake",
                case.filter,
                items.len()
            ),
            "let every operator compare as it is called, and name only those that are taken",
        )
    });
}
