//! Hints for keys, operators and values of a filter in the style of other APIs.

use mcp_aql_core::internal::text::clean;
use mcp_aql_protocol::path_parts;
use serde_json::Value;

use super::QuerySurface;
use super::condition::operators;
use super::operand::noun;
use crate::field_info::FieldInfo;
use crate::value::ValueKind;

/// Returns `true` if a value is an object with one level too many: its members should replace it.
pub(super) fn has_keys_of(value: &Value, valid: &[&str]) -> bool {
    value.as_object().is_some_and(|members| {
        !members.is_empty() && members.keys().all(|name| valid.contains(&name.as_str()))
    })
}

/// Returns the hint for a superfluous object around members.
pub(super) fn around(path: &str) -> String {
    format!("Replace '{}' with its members", clean(path))
}

/// Names of operators in other APIs. A `$` before a name is ignored.
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

/// Returns the hint for a key that combines a field and an operator, such as `priority__gt`.
pub(super) fn operator_path(surface: &QuerySurface<'_>, key: &str) -> Option<String> {
    let parts = path_parts(key)?;
    let (operator, field) = parts.split_last()?;
    let field = field.join(".");
    let info = surface.table.fields.iter().find(|it| it.path == field && surface.filters(it))?;
    let operator = operator_of(operator, operators(info))?;
    let field = if field.contains('.') { format!("'{field}'") } else { field };
    Some(format!("Send '{}' as {{ {field}: {{ {operator} }} }}", clean(key)))
}

/// Returns the form of a comparison sent as a string, such as `>100`. String fields are excluded, because
/// `>100` can be a value of theirs.
pub(super) fn comparison(field: &FieldInfo, text: &str) -> Option<String> {
    if matches!(field.kind, ValueKind::Text | ValueKind::Choice) {
        return None;
    }
    let text = text.trim();
    let operand = text.trim_start_matches(['<', '>', '=', '!']);
    let operator = operator_of(text.strip_suffix(operand)?, operators(field))?;
    Some(format!("{{ {operator}: {} }}", noun(field.kind)))
}

/// Returns the operator probably meant by an operator name of another API.
pub(super) fn operator_of(name: &str, valid: &[&'static str]) -> Option<&'static str> {
    let name = name.trim_start_matches('$');
    let named = valid.iter().copied().find(|known| *known == name);
    named.or_else(|| {
        let mut meanings = OTHER_OPERATORS.iter().filter(|(_, names)| names.contains(&name));
        meanings.find_map(|(meant, _)| valid.iter().copied().find(|known| known == meant))
    })
}
