//! Checks of the filter operators named by the type of a filter.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::filter::{filter_fields, filtered};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{all_items, having};
use crate::pages;
use crate::run::{Run, do_all};
use crate::shape::Shape;

/// Maximum number of filter keys to compare.
const MAX_KEYS: usize = 4;

/// Number of filters per key that select some but not all items.
const FILTERS_OF_A_KEY: usize = 4;

/// Reads the operators from the description of a key.
///
/// ```text
/// Filters by priority. Operators: eq, ne, gt.  →  ["eq", "ne", "gt"]
/// ```
fn operators<'a>(key: Shape<'a>) -> Vec<&'a str> {
    let (_, list) = key.description().split_once("Operators:").unwrap_or_default();
    let list = list.split('.').next().unwrap_or_default();
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// Compares two values of one field.
///
/// Returns `None` unless every adapter must order them alike. That holds for numbers, and for dates and timestamps in
/// the same format.
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

/// Returns `true` if an operator selects a value, or `None` if that depends on the adapter.
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

/// A filter with its expected result.
struct Case {
    filter: Value,
    /// For each item: `true` if the filter must select it, `None` if that depends on the adapter.
    expected: Vec<Option<bool>>,
}

/// A filter key with the values of the item field of the same name.
struct Key<'a> {
    name: &'a str,
    operators: Vec<&'a str>,
    /// The value of each item, or null.
    values: Vec<&'a Value>,
    /// Two different values.
    two: [&'a Value; 2],
    /// A value between two others if there are at least three different ones.
    middle: &'a Value,
}

impl<'a> Key<'a> {
    /// Creates the key if the items have at least two different plain values.
    fn new(key: Shape<'a>, items: &'a [Value]) -> Option<Self> {
        let name = key.name()?;
        let values: Vec<_> =
            items.iter().map(|item| pages::at(item, name).unwrap_or(&Value::Null)).collect();
        if values.iter().any(|value| value.is_array() || value.is_object()) {
            return None;
        }
        let mut distinct: Vec<&Value> = Vec::new();
        for value in values.iter().filter(|value| !value.is_null()) {
            if !distinct.contains(value) {
                distinct.push(value);
            }
        }
        let [one, other, ..] = *distinct.as_slice() else { return None };
        distinct.sort_by(|one, other| compared(one, other).unwrap_or(Ordering::Equal));
        let middle = distinct.get(distinct.len() / 2).copied().unwrap_or(one);
        Some(Self { name, operators: operators(key), values, two: [one, other], middle })
    }

    /// Creates a case for a filter that must select the items with values for which `passes` returns `true`.
    fn case(&self, filter: Value, passes: impl Fn(&Value) -> Option<bool>) -> Case {
        let passes = |value: &&Value| if value.is_null() { None } else { passes(value) };
        Case { filter, expected: self.values.iter().map(passes).collect() }
    }

    /// Returns one case for each known operator.
    fn of_operators(&self) -> Vec<Case> {
        let (name, wanted) = (self.name, self.middle);
        let operators = self.operators.iter().copied();
        operators
            .filter(|operator| passes(operator, wanted, wanted).is_some())
            .map(|operator| {
                let operand = match operator {
                    "in" | "nin" => json!([wanted]),
                    _ => wanted.clone(),
                };
                self.case(json!({ name: { operator: operand } }), |value| {
                    passes(operator, value, wanted)
                })
            })
            .collect()
    }

    /// Returns the case of a filter that selects either of two values.
    fn either(&self, filter: Value) -> Case {
        self.case(filter, |value| Some(self.two.contains(&value)))
    }
}

/// An operation whose filters are compared, and all items that it returns without a filter.
struct Filtered<'a> {
    run: &'a Run,
    operation: &'a Operation,
    params: Map<String, Value>,
    items: &'a [Value],
    cases: &'a Cases,
}

impl Filtered<'_> {
    /// Counts the missing and the wrongly selected items. Returns the count with the call.
    ///
    /// A failed call selects no items.
    async fn mistakes(&self, case: &Case) -> Option<(usize, Exchange)> {
        let mut params = self.params.clone();
        params.insert("filter".to_owned(), case.filter.clone());
        let (found, exchange) = filtered(self.run, self.operation, params, self.cases).await?;
        let is_wrong = |(item, expected): &(&Value, &Option<bool>)| {
            expected.is_some_and(|expected| expected != found.contains(item))
        };
        Some((self.items.iter().zip(&case.expected).filter(is_wrong).count(), exchange))
    }

    /// Compares the selected items with the expected ones.
    async fn compare(&self, name: &str, case: Case) {
        let Some((wrong, exchange)) = self.mistakes(&case).await else { return };
        self.cases.expect_success(&exchange, wrong == 0, || {
            Finding::of(&exchange, format!("{}: filter.{name}", self.operation.name)).expected(
                format!(
                    "the items that {} selects; {wrong} of {} are missing or wrongly selected",
                    case.filter,
                    self.items.len()
                ),
            )
        });
    }

    /// Returns `true` if the filter treats a list of one value like the value itself.
    async fn takes_lists(&self, key: &Key<'_>) -> bool {
        for wanted in key.two {
            let case = key.case(json!({ key.name: [wanted] }), |value| Some(value == wanted));
            let found = self.mistakes(&case).await;
            if !found.is_some_and(|(wrong, exchange)| wrong == 0 && exchange.succeeded()) {
                return false;
            }
        }
        true
    }
}

pub(super) async fn filter_operators(run: &Run, cases: &Cases) {
    let operations = having(run, "filter", cases).into_iter().filter(|operation| {
        filter_fields(run, operation).into_iter().any(|key| !operators(key).is_empty())
    });
    let operations =
        cases.some_or_not_applicable(operations, "no type of a `filter` names operators");
    let jobs = operations.into_iter().map(|operation| async move {
        let Some((params, items)) = all_items(run, operation, cases).await else { return };
        let keys = filter_fields(run, operation);
        let has_or = keys.iter().any(|key| key.name() == Some("or"));
        let max_keys = pages::affordable_choices(items.len(), FILTERS_OF_A_KEY, MAX_KEYS);
        let keys = keys.into_iter().filter_map(|key| Key::new(key, &items));
        let keys: Vec<_> = keys.take(max_keys).collect();
        if keys.is_empty() {
            return cases.skip_scarce(format!(
                "two items of `{}` that differ in a key of its filter",
                operation.name
            ));
        }
        let filtered = Filtered { run, operation, params, items: &items, cases };
        for key in keys {
            for case in key.of_operators() {
                filtered.compare(key.name, case).await;
            }
            let [one, other] = key.two;
            if filtered.takes_lists(&key).await {
                let list = json!({ key.name: [one, other] });
                filtered.compare(key.name, key.either(list)).await;
            }
            if has_or {
                let alternatives = json!({ "or": [{ key.name: one }, { key.name: other }] });
                filtered.compare(key.name, key.either(alternatives)).await;
            }
        }
    });
    do_all(jobs).await;
}
