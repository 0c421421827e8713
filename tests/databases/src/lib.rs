//! Shared by the tests of the SQL executor: a resource, its tables in both databases, arbitrary rows and queries, and
//! the adapters for the drivers.

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

/// Returns the current time of all queries.
pub fn now() -> chrono::DateTime<chrono::Utc> {
    "2031-05-06T07:00:00Z".parse().unwrap()
}

/// Returns the options of all queries.
pub fn options() -> QueryOptions {
    QueryOptions::new()
        .text(TextSearch::Optional)
        .accept_offset()
        .accept_page()
        .max_page_size(1_000)
}

/// Parses a valid request.
pub fn parse(request: &Value) -> CollectionQuery<Item> {
    try_parse(request).unwrap_or_else(|error| panic!("{request}: {error:?}"))
}

/// Parses a request, if it is valid.
pub fn try_parse(request: &Value) -> Result<CollectionQuery<Item>, mcp_aql::OperationError> {
    let Value::Object(params) = request.clone() else {
        return Ok(parse(&Value::Object(Map::new())));
    };
    CollectionQuery::parse(&options(), params, &CursorKey::new([7; 16]))
}

/// Reports whether two replies are equal. Fractions in summaries are compared with a tolerance, and of cursors, whether
/// there are any: each store writes the values by which it sorts.
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
