//! Accepts objects and lists that a client sends as JSON strings.

use mcp_aql_protocol::SizeLimits;
use serde_json::{Map, Value};

use super::limits::parameter_fits;
use super::params::read_scanned;

/// Returns the object or list contained as JSON in a string. Returns `None` if it exceeds the limits or repeats a
/// member.
///
/// ```text
/// "[1, 2]"  →  [1, 2]
/// "urgent"  →  None
/// ```
pub(crate) fn json_in_text(value: &Value, limits: &SizeLimits) -> Option<Value> {
    let text = value.as_str()?.trim();
    let read = text.starts_with(['{', '[']).then(|| read_scanned("", text)).flatten();
    read.filter(|value| parameter_fits(value, limits))
}

/// Replaces the `params` and `operations` of a request, and the `params` of its items, if they are JSON strings.
pub(crate) fn read_texts(members: &mut Map<String, Value>, limits: &SizeLimits) {
    read_member(members, "params", limits);
    read_member(members, "operations", limits);
    if let Some(Value::Array(items)) = members.get_mut("operations") {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            read_member(item, "params", limits);
        }
    }
}

fn read_member(members: &mut Map<String, Value>, name: &str, limits: &SizeLimits) {
    if let Some(value) = members.get_mut(name)
        && let Some(read) = json_in_text(value, limits)
    {
        *value = read;
    }
}
