//! Parses conditions on one field of a filter.

use serde_json::Value;

use super::QueryFaults;
use super::operand::{self, Day, noun};
use crate::field_info::FieldInfo;
use crate::plan::{Filter, Test};
use crate::value::{Scalar, ValueKind};

/// Maximum number of values in a list.
pub(crate) const MAX_VALUES: usize = 1_000;

/// Returns the operators of a field, according to the kind of its values.
pub(crate) fn operators(field: &FieldInfo) -> &'static [&'static str] {
    if field.list {
        return &["contains", "in", "nin", "exists"];
    }
    match field.kind {
        ValueKind::Boolean => &["eq", "ne", "exists"],
        ValueKind::Integer | ValueKind::Number | ValueKind::Date | ValueKind::Instant => {
            &["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists"]
        }
        ValueKind::Text => &["eq", "ne", "in", "nin", "contains", "starts_with", "exists"],
        ValueKind::Choice => &["eq", "ne", "in", "nin", "exists"],
        ValueKind::Json => &[],
    }
}

pub(super) fn all(mut parts: Vec<Filter>) -> Filter {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            Filter::All(parts)
        }
        None => Filter::All(parts),
    }
}

pub(super) fn not(filter: Filter) -> Filter {
    Filter::Not(Box::new(filter))
}

/// Parses the operand of an operator supported by the field.
pub(super) fn condition(
    field: &FieldInfo,
    operator: &str,
    path: &str,
    value: &Value,
    faults: &mut QueryFaults,
) -> Option<Condition> {
    let mut one = || operand::read(field, path, value, faults);
    let test = match operator {
        "exists" => match value {
            Value::Bool(true) => Test::Exists,
            Value::Bool(false) => return Some(Condition::of(Test::Exists).opposite()),
            other => {
                faults.wrong_type(path, "boolean", other);
                return None;
            }
        },
        "eq" if value.is_null() => return Some(Condition::of(Test::Exists).opposite()),
        "contains" if field.list && value.is_null() => {
            return Some(Condition::of(Test::Exists).opposite());
        }
        "ne" if value.is_null() => Test::Exists,
        "eq" => Test::Equals(one()?),
        "ne" => return Some(Condition::of(Test::Equals(one()?)).opposite()),
        "gt" => Test::Above { bound: one()?, inclusive: false },
        "gte" => Test::Above { bound: one()?, inclusive: true },
        "lt" => Test::Below { bound: one()?, inclusive: false },
        "lte" => Test::Below { bound: one()?, inclusive: true },
        "contains" if field.list => Test::Equals(one()?),
        "contains" | "starts_with" => {
            let Value::String(text) = value else {
                faults.wrong_type(path, "string", value);
                return None;
            };
            let test = if operator == "contains" { Test::Contains } else { Test::StartsWith };
            test(text.clone())
        }
        // The only other operators are `in` and `nin`.
        name => {
            let condition = any_of(field, path, value, faults)?;
            return Some(if name == "nin" { condition.opposite() } else { condition });
        }
    };
    Some(Condition::of(test))
}

fn any_of(
    field: &FieldInfo,
    path: &str,
    value: &Value,
    faults: &mut QueryFaults,
) -> Option<Condition> {
    let Some(list) = value.as_array() else {
        let form = format!("a list: [{}]", noun(field.kind));
        faults.wrong_form(path, "array", value, Some(&form));
        return None;
    };
    if list.len() > MAX_VALUES {
        let what = format!("has more than {MAX_VALUES} values: use fewer");
        faults.refuse(path, &what, format!("up to {MAX_VALUES} values"));
        return None;
    }
    let or_missing = list.iter().any(Value::is_null);
    let (mut values, mut days) = (Vec::new(), Vec::new());
    let mut is_valid = true;
    for (index, value) in list.iter().enumerate().filter(|(_, value)| !value.is_null()) {
        if let Some(day) = Day::read(field, value) {
            days.push(day);
            continue;
        }
        match operand::read(field, &format!("{path}[{index}]"), value, faults) {
            Some(value) => values.push(value),
            None => is_valid = false,
        }
    }
    if !is_valid {
        return None;
    }
    values.sort_by(Scalar::order);
    values.dedup();
    days.sort();
    days.dedup();
    let mut any: Vec<_> = days.iter().map(|day| Vec::from(day.within())).collect();
    if !values.is_empty() || any.is_empty() {
        any.push(vec![Test::AnyOf(values)]);
    }
    Some(Condition { any, holds: true, or_missing })
}

/// A condition in disjunctive form, with its treatment of missing values.
pub(super) struct Condition {
    /// The condition holds if all tests of one of these groups hold.
    any: Vec<Vec<Test>>,
    holds: bool,
    /// If `true`, a missing value satisfies the condition.
    or_missing: bool,
}

impl Condition {
    pub(super) fn of(test: Test) -> Self {
        Self { any: vec![vec![test]], holds: true, or_missing: false }
    }

    /// Compares an instant with a day, for the operators with one operand. For example, `gt` means "on a
    /// later day".
    pub(super) fn of_day(operator: &str, day: &Day) -> Option<Self> {
        let within = Self { any: vec![Vec::from(day.within())], holds: true, or_missing: false };
        Some(match operator {
            "eq" => within,
            "ne" => within.opposite(),
            "gt" => Self::of(day.after()),
            "gte" => Self::of(day.since()),
            "lt" => Self::of(day.before()),
            "lte" => Self::of(day.until()),
            _ => return None,
        })
    }

    fn opposite(self) -> Self {
        Self { holds: !self.holds, ..self }
    }

    pub(super) fn on(self, place: usize) -> Filter {
        let on = |tests: Vec<Test>| {
            all(tests.into_iter().map(|test| Filter::Field(place, test)).collect())
        };
        let mut any: Vec<_> = self.any.into_iter().map(on).collect();
        if self.or_missing {
            any.push(not(Filter::Field(place, Test::Exists)));
        }
        let filter = match any.pop() {
            Some(only) if any.is_empty() => only,
            Some(last) => {
                any.push(last);
                Filter::Any(any)
            }
            None => Filter::Any(any),
        };
        if self.holds { filter } else { not(filter) }
    }
}
