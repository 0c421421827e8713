//! Shared code of the tests with databases: a resource with its tables, arbitrary rows and queries, and the code for
//! each driver.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod arbitrary;
#[cfg(feature = "gated")]
pub mod gated;
mod item;
pub mod postgres;
pub mod sqlite;

pub use arbitrary::{items, queries};
pub use item::{Item, Place, State, Team, rest_in_memory, table};
use mcp_aql::query::{CollectionQuery, CursorKey, QueryOptions, TextSearch};
use serde_json::{Map, Value};

/// Returns the current time for all queries. It is fixed, so that results do not change.
pub fn now() -> chrono::DateTime<chrono::Utc> {
    "2031-05-06T07:00:00Z".parse().unwrap()
}

/// Returns the options for all queries.
pub fn options() -> QueryOptions {
    QueryOptions::new()
        .text(TextSearch::Optional)
        .accept_offset()
        .accept_page()
        .max_page_size(1_000)
}

/// Parses a valid request. Panics if it is invalid.
///
/// ```json
/// { "filter": { "rank": { "gte": 1 } }, "sort": [{ "field": "created", "order": "desc" }], "first": 5 }
/// ```
pub fn parse(request: &Value) -> CollectionQuery<Item> {
    try_parse(request).unwrap_or_else(|error| panic!("{request}: {error:?}"))
}

/// Parses a request. Returns the error if it is invalid.
pub fn try_parse(request: &Value) -> Result<CollectionQuery<Item>, mcp_aql::OperationError> {
    let Value::Object(params) = request.clone() else {
        return Ok(parse(&Value::Object(Map::new())));
    };
    CollectionQuery::parse(&options(), params, &CursorKey::new([7; 16]))
}

/// Returns `true` if two replies are equal, apart from differences that stores may have.
///
/// Fractions in aggregates may differ a little. Cursors only have to be present in both, because they contain the sort
/// values in the form of the store.
///
/// Use this for the same query on two stores. For two replies of one store, you can use `==`.
pub fn same(left: &Value, right: &Value) -> bool {
    let without_cursors = |reply: &Value| {
        let mut reply = reply.clone();
        let info = reply.get_mut("pageInfo").and_then(Value::as_object_mut);
        for (name, value) in info.into_iter().flatten() {
            if name.ends_with("Cursor") {
                *value = Value::Bool(value.is_string());
            }
        }
        reply
    };
    let mut left = without_cursors(left);
    let mut right = without_cursors(right);
    let taken = |value: &mut Value| value.as_object_mut()?.remove("aggregations");
    let summaries = (taken(&mut left), taken(&mut right));
    left == right
        && match summaries {
            (Some(left), Some(right)) => about(&left, &right),
            (left, right) => left == right,
        }
}

fn about(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|((name, left), (other, right))| name == other && about(left, right))
        }
        (Value::Number(left), Value::Number(right)) if left.is_f64() && right.is_f64() => {
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
        }
        _ => left == right,
    }
}
