//! Parses `sort` and `order`.

use mcp_aql_protocol::snake_case;
use serde_json::{Map, Value};

use super::faults::PARAMETERS;
use super::filter_hints::around;
use super::form::sort_form;
use super::{QueryFaults, QuerySurface};
use crate::entry::QueryParams;
use crate::model::ResourceSchema;
use crate::plan::{AppliedKey, SortBy, SortKey};

/// The name of the score in `sort`. A field with this name takes precedence.
const RELEVANCE: &str = "relevance";

/// Maximum number of sort keys.
const MAX_KEYS: usize = 8;

/// A parsed order.
pub(super) struct ParsedSort {
    pub(super) keys: Vec<SortKey>,
    /// If `true`, the caller chose the order.
    pub(super) given: bool,
}

/// Parses `sort`, and `order` if it is accepted, and appends the identifier as a tie-breaker.
///
/// ```json
/// { "sort": [{ "field": "priority", "order": "desc" }, { "field": "due" }] }
/// ```
pub(super) fn read(
    surface: &QuerySurface<'_>,
    given: &mut QueryParams<'_>,
    by_score: bool,
    faults: &mut QueryFaults,
) -> ParsedSort {
    let value = given.take("sort");
    let order = given.take("order");
    let mut keys = Vec::new();
    match (&value, &order) {
        (None, Some(_)) => {
            faults.refuse("order", "is only valid with 'sort': send both", "'sort' and 'order'");
        }
        (Some(Value::String(field)), order) if surface.options.order => {
            let descending = order.as_ref().and_then(|order| direction("order", order, faults));
            let descending = descending.unwrap_or_default();
            keys.extend(key(surface, "sort", field, descending, by_score, faults));
        }
        (Some(_), Some(_)) => faults.refuse(
            "order",
            "is only valid if 'sort' is a field name: put 'order' into the object of 'sort'",
            "'sort' as a string",
        ),
        (Some(Value::Array(list)), None) => {
            if list.is_empty() || list.len() > MAX_KEYS {
                let what =
                    format!("must have 1 to {MAX_KEYS} keys: leave it out for the default order");
                faults.refuse("sort", &what, format!("1 to {MAX_KEYS} keys"));
            }
            for (index, each) in list.iter().take(MAX_KEYS).enumerate() {
                keys.extend(object(surface, &format!("sort[{index}]"), each, by_score, faults));
            }
        }
        (Some(one), None) => keys.extend(object(surface, "sort", one, by_score, faults)),
        (None, None) => {}
    }
    for (index, key) in keys.iter().enumerate() {
        if keys.iter().take(index).any(|other| other.by == key.by) {
            let path = match key.by {
                SortBy::Field(place) => surface.table.field(place).map(|field| field.path.as_str()),
                SortBy::Score => None,
            };
            let what = format!("names '{}' twice: once is enough", path.unwrap_or_default());
            faults.refuse("sort", &what, "each field once");
        }
    }
    if keys.is_empty() {
        keys = by_default(surface.table, by_score);
    }
    // The tie-breaker makes the order total. A cursor then identifies exactly one position.
    if let Some(id) = surface.table.id
        && !keys.iter().any(|key| key.by == SortBy::Field(id))
    {
        keys.push(SortKey { by: SortBy::Field(id), descending: false });
    }
    ParsedSort { keys, given: value.is_some() }
}

fn by_default(table: &ResourceSchema, by_score: bool) -> Vec<SortKey> {
    if by_score {
        return vec![SortKey { by: SortBy::Score, descending: true }];
    }
    let key = |key: &crate::DefaultSort| {
        let by = SortBy::Field(table.index_of(key.field)?);
        Some(SortKey { by, descending: key.descending })
    };
    table.default_sort.iter().filter_map(key).collect()
}

fn object(
    surface: &QuerySurface<'_>,
    path: &str,
    value: &Value,
    by_score: bool,
    faults: &mut QueryFaults,
) -> Option<SortKey> {
    let Some(members) = value.as_object() else {
        faults.wrong_form(
            path,
            "object with 'field' and 'order'",
            value,
            Some(&sort_form(surface)),
        );
        return None;
    };
    if let Some(meant) = keyed_by_field(surface, members) {
        faults.unknown_meaning(path, "member", meant.0, &["field", "order"], Some(meant.1));
        return None;
    }
    let before = faults.len();
    refuse_members(path, members, faults);
    let descending = match members.get("order") {
        Some(order) => direction(&format!("{path}.order"), order, faults)?,
        None => false,
    };
    match members.get("field") {
        Some(Value::String(field)) => {
            key(surface, &format!("{path}.field"), field, descending, by_score, faults)
        }
        Some(other) => {
            let valid = surface.paths(|field| surface.sorts(field)).join(", ");
            let form = format!("a string, one of: {valid}");
            faults.wrong_form(&format!("{path}.field"), "string", other, Some(&form));
            None
        }
        // An unknown member was reported, and it is probably the field.
        None if faults.len() > before => None,
        None => {
            let valid = surface.paths(|field| surface.sorts(field)).join(", ");
            let what = format!("has no 'field', one of: {valid}");
            faults.refuse(path, &what, format!("'field', one of: {valid}"));
            None
        }
    }
}

/// Reports unknown members of a sort key.
fn refuse_members(path: &str, members: &Map<String, Value>, faults: &mut QueryFaults) {
    for name in members.keys().filter(|name| !["field", "order"].contains(&name.as_str())) {
        if PARAMETERS.contains(&name.as_str()) {
            faults.inside("sort", "member", name, &format!("{path}.{name}"));
            continue;
        }
        let meant = MEMBERS.iter().find(|(_, names)| names.contains(&snake_case(name).as_str()));
        let meant = meant.filter(|(member, _)| !members.contains_key(*member));
        let is_around = members.get(name).and_then(Value::as_object);
        let is_around = is_around.is_some_and(|inner| inner.contains_key("field"));
        let is_list = members.get(name).is_some_and(Value::is_array) && members.len() == 1;
        let meant = match is_around {
            true => Some(around(&format!("{path}.{name}"))),
            false if is_list => Some("Send the value alone, without an object".to_owned()),
            false => meant.map(|(member, _)| format!("Did you mean '{member}'?")),
        };
        faults.unknown_meaning(path, "member", name, &["field", "order"], meant);
    }
}

/// Names of the members of a sort key in other APIs.
const MEMBERS: [(&str, &[&str]); 2] = [
    ("field", &["by", "key", "column", "name", "property", "sort_by", "order_by", "path"]),
    ("order", &["direction", "dir", "sort_order", "sort_direction", "asc", "desc", "ascending"]),
];

/// Recognizes `{ due: 'desc' }`. Returns the first member's name, and a hint with the correct key.
fn keyed_by_field<'m>(
    surface: &QuerySurface<'_>,
    members: &'m Map<String, Value>,
) -> Option<(&'m str, String)> {
    if members.contains_key("field") {
        return None;
    }
    let (name, value) = members.iter().next()?;
    let is_field = surface.paths(|field| surface.sorts(field)).contains(&name.as_str());
    let down = ["desc", "descending", "-1"];
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_lowercase);
    let order = if down.contains(&text.as_str()) { "desc" } else { "asc" };
    is_field.then(|| (name.as_str(), format!("Send {{ field: '{name}', order: '{order}' }}")))
}

fn direction(path: &str, value: &Value, faults: &mut QueryFaults) -> Option<bool> {
    match value {
        Value::String(order) if order == "asc" => Some(false),
        Value::String(order) if order == "desc" => Some(true),
        Value::String(order) => {
            faults.unknown(path, "order", order, &["asc", "desc"]);
            None
        }
        other => {
            faults.wrong_form(path, "string", other, Some("a string, one of: asc, desc"));
            None
        }
    }
}

fn key(
    surface: &QuerySurface<'_>,
    param: &str,
    field: &str,
    descending: bool,
    by_score: bool,
    faults: &mut QueryFaults,
) -> Option<SortKey> {
    let place = surface
        .table
        .index_of(field)
        .filter(|place| surface.table.field(*place).is_some_and(|field| surface.sorts(field)));
    if place.is_none() {
        if by_score && field == RELEVANCE {
            return Some(SortKey { by: SortBy::Score, descending });
        }
        let mut valid = surface.paths(|field| surface.sorts(field));
        valid.extend(by_score.then_some(RELEVANCE));
        if surface.table.has(field) {
            faults.unsupported(param, "sorted by", field, &valid);
        } else {
            faults.unknown(param, "field", field, &valid);
        }
    }
    Some(SortKey { by: SortBy::Field(place?), descending })
}

/// Returns the order as reported in the reply. The identifier is omitted if it only breaks ties.
pub(super) fn applied(table: &ResourceSchema, keys: &[SortKey]) -> Vec<AppliedKey> {
    let reported = if keys.len() > 1 {
        keys.split_last().map_or(keys, |(last, rest)| {
            let settles = matches!(last.by, SortBy::Field(place) if table.id == Some(place));
            if settles && !last.descending { rest } else { keys }
        })
    } else {
        keys
    };
    reported
        .iter()
        .map(|key| AppliedKey {
            field: match key.by {
                SortBy::Field(place) => {
                    table.field(place).map(|field| field.path.clone()).unwrap_or_default()
                }
                SortBy::Score => RELEVANCE.to_owned(),
            },
            order: if key.descending { "desc" } else { "asc" },
        })
        .collect()
}
