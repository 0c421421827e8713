//! What callers probably mean by names that a filter does not have.

use mcp_aql_core::text::clean;
use serde_json::Value;

/// Whether a value is an object that has one level too many: its members belong in its place.
pub(super) fn has_keys_of(value: &Value, valid: &[&str]) -> bool {
    value.as_object().is_some_and(|members| {
        !members.is_empty() && members.keys().all(|name| valid.contains(&name.as_str()))
    })
}

/// The hint for an object around members that belong in its place.
pub(super) fn around(path: &str) -> String {
    format!("Send the members of '{}' in place of it", clean(path))
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
pub(super) fn operator_of(name: &str, valid: &[&'static str]) -> Option<&'static str> {
    let name = name.trim_start_matches('$');
    let named = valid.iter().copied().find(|known| *known == name);
    named.or_else(|| {
        let mut meanings = OTHER_OPERATORS.iter().filter(|(_, names)| names.contains(&name));
        meanings.find_map(|(meant, _)| valid.iter().copied().find(|known| known == meant))
    })
}
