//! Parses `sort` and `order`.

use mcp_aql_core::vocab::json_type;
use serde_json::Value;

use super::{QueryFaults, QuerySurface};
use crate::applied::AppliedKey;
use crate::entry::QueryParams;
use crate::model::ResourceSchema;
use crate::plan::{SortBy, SortKey};

/// The name of the score in `sort`, unless a field has this name.
const RELEVANCE: &str = "relevance";

/// The maximum number of sort keys.
const MAX_KEYS: usize = 8;

/// A parsed order.
pub(super) struct ParsedSort {
    pub(super) keys: Vec<SortKey>,
    /// Whether the caller chose the order.
    pub(super) given: bool,
}

/// Parses `sort`, and `order` if it is accepted, and appends the identifier as a tie-breaker.
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
            faults.refuse("order", "goes with 'sort': give the field too", "'sort' beside it");
        }
        (Some(Value::String(field)), order) if surface.options.order => {
            let descending = order.as_ref().and_then(|order| direction("order", order, faults));
            let descending = descending.unwrap_or_default();
            keys.extend(key(surface, "sort", field, descending, by_score, faults));
        }
        (Some(_), Some(_)) => faults.refuse(
            "order",
            "goes with a plain field name in 'sort': an object has its own 'order'",
            "'sort' as a string",
        ),
        (Some(Value::Array(list)), None) => {
            if list.is_empty() || list.len() > MAX_KEYS {
                let what =
                    format!("must have 1 to {MAX_KEYS} keys: leave it out for the usual order");
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
    // The tie-breaker: no two rows are equal.
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
        faults.wrong_type(path, "object with 'field' and 'order'", json_type(value));
        return None;
    };
    for name in members.keys() {
        if name != "field" && name != "order" {
            faults.unknown(path, "member", name, &["field", "order"]);
        }
    }
    let descending = match members.get("order") {
        Some(order) => direction(&format!("{path}.order"), order, faults)?,
        None => false,
    };
    match members.get("field") {
        Some(Value::String(field)) => {
            key(surface, &format!("{path}.field"), field, descending, by_score, faults)
        }
        Some(other) => {
            faults.wrong_type(&format!("{path}.field"), "string", json_type(other));
            None
        }
        None => {
            let valid = surface.paths(|field| surface.sorts(field)).join(", ");
            faults.refuse(path, "has no 'field'", format!("'field', one of: {valid}"));
            None
        }
    }
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
            faults.wrong_type(path, "string", json_type(other));
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

/// The order as the reply reports it, without the identifier that only breaks ties.
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
