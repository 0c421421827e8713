//! Parses `filter`.

use mcp_aql_core::text::clean;
use serde_json::{Map, Value};

use super::faults::PARAMETERS;
use super::operand::{Day, noun};
use super::{QueryFaults, QuerySurface, operand};
use crate::field_info::FieldInfo;
use crate::form::filter_form;
use crate::plan::{Filter, Test};
use crate::value::{Scalar, ValueKind};

/// The maximum nesting depth of groups.
pub(crate) const MAX_DEPTH: usize = 8;
/// The maximum number of groups in a filter.
const MAX_GROUPS: usize = 2 * MAX_CONDITIONS;
/// The maximum number of conditions in a filter.
pub(crate) const MAX_CONDITIONS: usize = 100;
/// The maximum number of values in a list.
pub(crate) const MAX_VALUES: usize = 1_000;

/// The operators of a field, by the kind of its values.
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

/// Parses `filter`.
pub(super) fn read(
    surface: &QuerySurface<'_>,
    value: &Value,
    faults: &mut QueryFaults,
) -> Option<Filter> {
    let mut reader = FilterParser { surface, conditions: 0, groups: 0, over: false };
    let parts = reader.group("filter", value, 0, faults);
    if reader.over {
        faults.refuse(
            "filter",
            &format!("has more than {MAX_CONDITIONS} conditions or {MAX_GROUPS} groups: use fewer"),
            format!("up to {MAX_CONDITIONS} conditions"),
        );
    }
    parts.filter(|parts| !parts.is_empty()).map(all)
}

fn all(mut parts: Vec<Filter>) -> Filter {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            Filter::All(parts)
        }
        None => Filter::All(parts),
    }
}

fn not(filter: Filter) -> Filter {
    Filter::Not(Box::new(filter))
}

/// Whether a value is an object that has one level too many: its members belong in its place.
fn has_keys_of(value: &Value, valid: &[&str]) -> bool {
    value.as_object().is_some_and(|members| {
        !members.is_empty() && members.keys().all(|name| valid.contains(&name.as_str()))
    })
}

/// The hint for an object around members that belong in its place.
pub(super) fn around(path: &str) -> String {
    format!("Send the members of '{}' in place of it", clean(path))
}

struct FilterParser<'a> {
    surface: &'a QuerySurface<'a>,
    conditions: usize,
    groups: usize,
    over: bool,
}

impl FilterParser<'_> {
    /// Parses the conditions of an object, all of which must hold.
    fn group(
        &mut self,
        path: &str,
        value: &Value,
        depth: usize,
        faults: &mut QueryFaults,
    ) -> Option<Vec<Filter>> {
        if depth > MAX_DEPTH {
            let what = format!("nests deeper than {MAX_DEPTH} groups: use fewer");
            faults.refuse(path, &what, format!("up to {MAX_DEPTH} groups deep"));
            return None;
        }
        // Empty groups count too.
        self.groups += 1;
        self.over |= self.groups > MAX_GROUPS;
        let Some(members) = value.as_object() else {
            faults.wrong_form(path, "object", value, Some(&filter_form(self.surface)));
            return None;
        };
        let mut parts = Vec::new();
        for (key, value) in members {
            if self.over || faults.is_full() {
                return None;
            }
            let path = format!("{path}.{key}");
            let part = match key.as_str() {
                "and" | "or" => self.several(key, &path, value, depth, faults),
                "not" => self.group(&path, value, depth + 1, faults).map(all).map(not),
                _ => self.field(key, &path, (value, members), faults),
            };
            parts.extend(part);
        }
        Some(parts)
    }

    /// Parses a list of groups.
    fn several(
        &mut self,
        key: &str,
        path: &str,
        value: &Value,
        depth: usize,
        faults: &mut QueryFaults,
    ) -> Option<Filter> {
        let Some(list) = value.as_array() else {
            let form = filter_form(self.surface);
            let form = match value {
                Value::Object(_) => format!("a list: [{form}]"),
                _ => format!("[{form}]"),
            };
            faults.wrong_form(path, "array of filters", value, Some(&form));
            return None;
        };
        if list.is_empty() {
            faults.refuse(
                path,
                "is empty: leave it out, or give it one filter or more",
                "one filter or more",
            );
            return None;
        }
        let mut parts = Vec::new();
        for (index, each) in list.iter().enumerate() {
            if self.over {
                return None;
            }
            let path = format!("{path}[{index}]");
            parts.push(all(self.group(&path, each, depth + 1, faults)?));
        }
        Some(if key == "and" { Filter::All(parts) } else { Filter::Any(parts) })
    }

    /// Parses the conditions on one field.
    fn field(
        &mut self,
        key: &str,
        path: &str,
        (value, group): (&Value, &Map<String, Value>),
        faults: &mut QueryFaults,
    ) -> Option<Filter> {
        let found = self.surface.table.index_of(key).and_then(|place| {
            let field = self.surface.table.field(place)?;
            self.surface.filters(field).then_some((place, field))
        });
        let Some((place, field)) = found else {
            self.refuse_key((key, path), (value, group), faults);
            return None;
        };
        match value {
            Value::Object(tests) => {
                if tests.is_empty() {
                    let valid = operators(field).join(", ");
                    let what = format!("has no operator: leave it out, or add one of: {valid}");
                    faults.refuse(path, &what, format!("one of: {valid}"));
                    return None;
                }
                let mut parts = Vec::new();
                for (operator, value) in tests {
                    let path = format!("{path}.{operator}");
                    let condition = self.operator(field, operator, &path, value, faults);
                    parts.extend(condition.map(|condition| condition.on(place)));
                }
                Some(all(parts))
            }
            // An empty list is ambiguous: callers mean "any value", but it would match none.
            Value::Array(list) if list.is_empty() => {
                faults.refuse(
                    path,
                    "is an empty list: leave it out, give values, or {'exists': false} for rows without any",
                    "one value or more",
                );
                None
            }
            // Operators, or a value, in a list of their own.
            Value::Array(list)
                if list.len() == 1
                    && (list.iter().all(Value::is_object) || !operators(field).contains(&"in")) =>
            {
                let is_object = list.iter().all(Value::is_object);
                let expected = if is_object { "object" } else { noun(field.kind) };
                faults.wrong_type(path, expected, value);
                None
            }
            Value::Array(_) => {
                self.operator(field, "in", path, value, faults).map(|test| test.on(place))
            }
            value => {
                let operator = if field.list { "contains" } else { "eq" };
                self.operator(field, operator, path, value, faults).map(|test| test.on(place))
            }
        }
    }

    /// Records the fault of a key that is not a field which can be filtered by.
    fn refuse_key(
        &self,
        (key, path): (&str, &str),
        (value, group): (&Value, &Map<String, Value>),
        faults: &mut QueryFaults,
    ) {
        if PARAMETERS.contains(&key) && !self.surface.table.has(key) {
            return faults.inside("filter", "key", key, path);
        }
        let mut valid = self.surface.paths(|field| self.surface.filters(field));
        valid.extend(["and", "or", "not"]);
        // An object with the name of a nested resource is probably meant as a path.
        let nested = format!("{key}.");
        match valid.iter().find(|path| path.starts_with(&nested)) {
            Some(inner) => {
                let what = format!("is not a key: name a field inside of it, such as '{inner}'");
                faults.refuse(path, &what, format!("one of: {}", valid.join(", ")));
            }
            None if self.surface.table.has(key) => {
                faults.unsupported("filter", "filtered by", key, &valid);
            }
            None => {
                let is_list = value.as_array().is_some_and(|it| it.iter().all(Value::is_object));
                let meaning = match key.chars().next() {
                    _ if has_keys_of(value, &valid) => Some(around(path)),
                    Some('o' | 'O') if is_list => Some("Did you mean 'or'?".to_owned()),
                    Some('a' | 'A') if is_list => Some("Did you mean 'and'?".to_owned()),
                    _ => self.field_of_operator((key, path), group),
                };
                faults.unknown_meaning("filter", "key", key, &valid, meaning);
            }
        }
    }

    /// The hint for an operator beside fields: the only field of the group that it can belong to.
    fn field_of_operator(
        &self,
        (operator, path): (&str, &str),
        group: &Map<String, Value>,
    ) -> Option<String> {
        let takes = |name: &&String| {
            let field =
                self.surface.table.index_of(name).and_then(|it| self.surface.table.field(it));
            field.is_some_and(|field| operators(field).contains(&operator))
        };
        let objects = group.iter().filter(|(_, value)| value.is_object()).map(|(name, _)| name);
        let mut fields = objects.filter(takes);
        let field = fields.next().filter(|_| fields.next().is_none())?;
        let path = clean(path);
        let around = path.strip_suffix(operator).unwrap_or_default();
        Some(format!("'{path}' belongs inside '{around}{field}': {{ {field}: {{ {operator} }} }}"))
    }

    fn operator(
        &mut self,
        field: &FieldInfo,
        operator: &str,
        path: &str,
        value: &Value,
        faults: &mut QueryFaults,
    ) -> Option<Condition> {
        self.conditions += 1;
        self.over |= self.conditions > MAX_CONDITIONS;
        if self.over {
            return None;
        }
        let valid = operators(field);
        let Some(operator) = valid.iter().find(|known| **known == operator) else {
            let meant = match operator.trim_start_matches('$') {
                _ if has_keys_of(value, valid) => Some(around(path)),
                "value" | "values" if !value.is_object() => {
                    Some("Send the value alone, without an object".to_owned())
                }
                "between" | "range" if valid.contains(&"gte") => {
                    Some("Send 'gte' and 'lte' instead".to_owned())
                }
                _ => operator_of(operator, valid).map(|meant| format!("Did you mean '{meant}'?")),
            };
            let param = path.strip_suffix(&format!(".{operator}")).unwrap_or(path);
            faults.unknown_meaning(param, "operator", operator, valid, meant);
            return None;
        };
        if let Some(day) = Day::read(field, value)
            && let Some(condition) = Condition::of_day(operator, &day)
        {
            return Some(condition);
        }
        condition(field, operator, path, value, faults)
    }
}

/// Names that other APIs use for operators. A `$` before a name is ignored.
const OTHER_OPERATORS: [(&str, &[&str]); 9] = [
    ("eq", &["=", "==", "===", "equals", "equal", "is"]),
    ("ne", &["!=", "<>", "not", "neq", "not_equals", "not_equal", "is_not"]),
    ("gt", &[">", "after", "greater_than"]),
    ("gte", &[">=", "ge", "min", "from", "since", "at_least"]),
    ("lt", &["<", "before", "less_than"]),
    ("lte", &["<=", "le", "max", "to", "until", "at_most"]),
    ("in", &["any", "any_of", "one_of"]),
    ("nin", &["not_in", "none_of"]),
    ("contains", &["like", "ilike", "includes", "has", "matches", "eq", "equals", "="]),
];

/// The operator that another API's name probably means.
fn operator_of(name: &str, valid: &[&'static str]) -> Option<&'static str> {
    let name = name.trim_start_matches('$');
    let named = valid.iter().copied().find(|known| *known == name);
    named.or_else(|| {
        let mut meanings = OTHER_OPERATORS.iter().filter(|(_, names)| names.contains(&name));
        meanings.find_map(|(meant, _)| valid.iter().copied().find(|known| known == meant))
    })
}

/// Parses the operand of an operator that the field has.
fn condition(
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
        // The others are `in` and `nin`.
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
struct Condition {
    /// The condition holds if all tests of one of these groups hold.
    any: Vec<Vec<Test>>,
    holds: bool,
    /// Whether a missing value satisfies the condition.
    or_missing: bool,
}

impl Condition {
    fn of(test: Test) -> Self {
        Self { any: vec![vec![test]], holds: true, or_missing: false }
    }

    /// The comparison of an instant with a day, for the operators with one operand.
    fn of_day(operator: &str, day: &Day) -> Option<Self> {
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

    fn on(self, place: usize) -> Filter {
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
