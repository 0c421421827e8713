//! Builds an example call of a collection query, for introspection.

use serde_json::{Value, json};

use super::field_info::FieldInfo;
use super::options::{QueryControl, TextSearch};
use super::read::QuerySurface;
use super::value::ValueKind;

/// Returns the parameters of an example call with several controls, for example:
///
/// ```json
/// { "filter": { "status": "open" }, "sort": { "field": "due", "order": "desc" }, "fields": "minimal", "first": 10 }
/// ```
pub(super) fn of(surface: &QuerySurface<'_>) -> Option<String> {
    let table = surface.table;
    let mut params = Vec::new();
    let mut add = |name: &str, value: &Value| params.push(format!("\"{name}\":{value}"));
    if surface.text() != TextSearch::None {
        add("query", &json!("some words"));
    }
    let filters = table.fields.iter().filter(|field| surface.filters(field));
    // Prefer the kinds of fields whose example says most.
    let telling = |field: &&FieldInfo| match field.kind {
        ValueKind::Choice => 0,
        ValueKind::Integer | ValueKind::Number | ValueKind::Date | ValueKind::Instant => 1,
        _ => 2,
    };
    let telling = filters.filter(|field| sample(field).is_some()).min_by_key(telling);
    if let Some((path, value)) = telling.and_then(|field| Some((&field.path, sample(field)?))) {
        add("filter", &json!({ path.as_str(): value }));
    }
    if let Some(path) = surface.paths(|field| surface.sorts(field) && !field.computed).last() {
        add("sort", &json!({ "field": path, "order": "desc" }));
    }
    if surface.has(QueryControl::Fields) {
        add("fields", &json!("minimal"));
    }
    let group = table.fields.iter().find(|field| field.group && surface.selects(&field.path));
    if let Some(group) = group.filter(|_| surface.has(QueryControl::Aggregate)) {
        let label = format!("by_{}", group.path.replace('.', "_"));
        add("aggregate", &json!({ label: { "group_by": group.path, "count": true } }));
        add("include_items", &json!(true));
    }
    add("first", &json!(10));
    Some(format!("{{{}}}", params.join(",")))
}

/// Returns a valid operand for a filter on this field.
fn sample(field: &FieldInfo) -> Option<Value> {
    Some(match field.kind {
        ValueKind::Choice => field.choices.first()?.clone().into(),
        ValueKind::Integer | ValueKind::Number if !field.list => json!({ "gte": 2 }),
        ValueKind::Boolean if !field.list => json!(true),
        ValueKind::Date if !field.list => json!({ "lt": "2031-05-06" }),
        ValueKind::Instant if !field.list => json!({ "gte": "2031-05-06T07:00:00Z" }),
        ValueKind::Text => json!("example"),
        _ => return None,
    })
}
