//! Parses `filter`.

use mcp_aql_core::OperationError;
use mcp_aql_core::internal::text::clean;
use mcp_aql_protocol::probable_parameter;
use serde_json::{Map, Value};

use super::condition::{Condition, all, condition, not, operators};
use super::faults::PARAMETERS;
use super::filter_hints::{around, comparison, has_keys_of, operator_of, operator_path};
use super::form::filter_form;
use super::operand::{Day, noun};
use super::{QueryFaults, QuerySurface};
use crate::field_info::FieldInfo;
use crate::plan::Filter;

/// Maximum nesting depth of groups.
pub(crate) const MAX_DEPTH: usize = 8;
/// Maximum number of groups in a filter.
const MAX_GROUPS: usize = 2 * MAX_CONDITIONS;
/// Maximum number of conditions in a filter.
pub(crate) const MAX_CONDITIONS: usize = 100;

/// Parses `filter`: an object of conditions by field, combined with `and`, `or` and `not`.
///
/// ```json
/// { "status": ["open", "waiting"], "due": { "lt": "2031-05-06" }, "not": { "owner": "ada" } }
/// ```
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

/// Parses a condition written by the author of the adapter, such as a row filter.
pub(crate) fn read_condition(
    surface: &QuerySurface<'_>,
    value: &Value,
) -> Result<Option<Filter>, OperationError> {
    let mut faults = QueryFaults::default();
    let filter = read(surface, value, &mut faults);
    faults.into_error().map_or(Ok(filter), Err)
}

struct FilterParser<'a> {
    surface: &'a QuerySurface<'a>,
    conditions: usize,
    groups: usize,
    over: bool,
}

impl FilterParser<'_> {
    /// Parses the conditions of an object. All of them must hold.
    fn group(
        &mut self,
        path: &str,
        value: &Value,
        depth: usize,
        faults: &mut QueryFaults,
    ) -> Option<Vec<Filter>> {
        if depth > MAX_DEPTH {
            let what = format!("has groups nested more than {MAX_DEPTH} deep: nest fewer groups");
            faults.refuse(path, &what, format!("up to {MAX_DEPTH} groups deep"));
            return None;
        }
        // Count empty groups too, because they contain no conditions and would be unlimited otherwise.
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
            Value::Array(list) => self.list(field, place, (path, value), list, faults),
            Value::String(text) if comparison(field, text).is_some() => {
                let form = comparison(field, text);
                faults.wrong_form(path, noun(field.kind), value, form.as_deref());
                None
            }
            value => {
                let operator = if field.list { "contains" } else { "eq" };
                self.operator(field, operator, path, value, faults).map(|test| test.on(place))
            }
        }
    }

    /// Parses a list of values. The field must have one of them.
    fn list(
        &mut self,
        field: &FieldInfo,
        place: usize,
        (path, value): (&str, &Value),
        list: &[Value],
        faults: &mut QueryFaults,
    ) -> Option<Filter> {
        // An empty list is ambiguous: callers mean "any value", but it would match none.
        if list.is_empty() {
            faults.refuse(
                path,
                "is an empty list: leave it out, send values, or send {'exists': false} for rows without a value",
                "one value or more",
            );
            return None;
        }
        // The list is superfluous around operators or a single value.
        let is_object = list.iter().all(Value::is_object);
        if list.len() == 1 && (is_object || !operators(field).contains(&"in")) {
            let expected = if is_object { "object" } else { noun(field.kind) };
            faults.wrong_type(path, expected, value);
            return None;
        }
        self.operator(field, "in", path, value, faults).map(|test| test.on(place))
    }

    /// Reports a key that is not a filterable field.
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
                let what = format!("is not a key: use a field inside of it, such as '{inner}'");
                faults.refuse(path, &what, format!("one of: {}", valid.join(", ")));
            }
            None if self.surface.table.has(key) => {
                faults.unsupported("filter", "filtered by", key, &valid);
            }
            None => {
                let is_list = value.as_array().is_some_and(|it| it.iter().all(Value::is_object));
                let path_form = operator_path(self.surface, key);
                let meaning = match key.chars().next() {
                    _ if path_form.is_some() => path_form,
                    _ if value.is_object() && probable_parameter(key, ["not"]).is_some() => {
                        Some("Did you mean 'not'?".to_owned())
                    }
                    _ if has_keys_of(value, &valid) => Some(around(path)),
                    Some('o' | 'O') if is_list => Some("Did you mean 'or'?".to_owned()),
                    Some('a' | 'A') if is_list => Some("Did you mean 'and'?".to_owned()),
                    _ => self.field_of_operator((key, path), value, group),
                };
                faults.unknown_meaning("filter", "key", key, &valid, meaning);
            }
        }
    }

    /// Returns the hint for an operator next to fields. It names the only field of the group to which the
    /// operator can belong.
    fn field_of_operator(
        &self,
        (operator, path): (&str, &str),
        value: &Value,
        group: &Map<String, Value>,
    ) -> Option<String> {
        let accepts = |field: &FieldInfo| {
            operators(field).contains(&operator)
                && condition(field, operator, path, value, &mut QueryFaults::default()).is_some()
        };
        let takes = |name: &&String| {
            let place = self.surface.table.index_of(name);
            place.and_then(|place| self.surface.table.field(place)).is_some_and(accepts)
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
