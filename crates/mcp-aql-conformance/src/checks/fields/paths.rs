//! Checks of field paths to nested fields, and of paths beyond values without fields.

use serde_json::{Map, Value, json};

use super::{about, choose, fields_of_type, full, is_path, things};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{having, is_refused, refused_with};
use crate::resources::Role;
use crate::run::{Run, do_all};
use crate::shape::Shape;

/// Returns an object field and the name of a field in it.
pub(super) fn path(things: &[&Map<String, Value>]) -> Option<(String, String)> {
    things.iter().flat_map(|thing| thing.iter()).find_map(|(name, value)| {
        let inner = value.as_object()?.keys().find(|inner| is_path(inner))?;
        is_path(name).then(|| (name.clone(), inner.clone()))
    })
}

/// Selects one nested field, and expects it without its neighbors:
///
/// ```json
/// { "fields": ["climate.humidity"] }
/// { "climate": { "humidity": 60 } }
/// ```
pub(super) async fn nested(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        let Some(all) = full(run, operation, cases).await else { return };
        let Some((outer, inner)) = all.data().and_then(|data| path(&things(data))) else {
            let fields = fields_of_type(run, operation);
            if !fields.is_empty() && fields.iter().all(|field| field.is_flat()) {
                return cases.not_applicable("no type of an item has nested fields");
            }
            return cases.skip_scarce(without_nested(run, operation));
        };
        let wanted = json!([format!("{outer}.{inner}")]);
        let Some(exchange) = choose(run, operation, Some(wanted), cases).await else { return };
        let things = exchange.data().map(things).unwrap_or_default();
        let mut is_there = false;
        let is_alone = things.iter().all(|thing| {
            thing.iter().all(|(name, value)| {
                let inside = value.as_object();
                is_there |= inside.is_some_and(|inside| inside.contains_key(&inner));
                *name == outer
                    && inside.is_none_or(|inside| inside.keys().all(|name| *name == inner))
            })
        });
        cases.expect(is_alone && is_there, || {
            Finding::of(&exchange, about(operation))
                .expected(format!("{{\"{outer}\": {{\"{inner}\": …}}}} and nothing else"))
        });
    });
    do_all(jobs).await;
}

/// Describes the missing data and how to provide it.
fn without_nested(run: &Run, operation: &Operation) -> String {
    let name = &operation.name;
    let mut kinds = run.resources().kinds().iter();
    let kind = kinds.find(|kind| {
        [Role::Read, Role::List]
            .into_iter()
            .any(|role| kind.operation(&run.adapter, role).is_some_and(|known| known.name == *name))
    });
    let create = kind.map(|kind| kind.create.as_str()).filter(|create| !create.is_empty());
    match create {
        Some(create) => format!(
            "an item of `{name}` with a nested field: show an object with two fields in the \
             example of `{create}` in introspection, or write it under [params.{create}] of the \
             configuration file"
        ),
        None => format!("an item of `{name}` with a nested field: store one before the run"),
    }
}

/// A field name that no item has.
const PROBE: &str = "conformance_probe";

/// Returns `true` if a value certainly has no fields: a scalar or a list of scalars.
fn is_end(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            !items.is_empty() && items.iter().all(|item| !item.is_object() && !item.is_array())
        }
        Value::Null | Value::Object(_) => false,
        _ => true,
    }
}

/// Returns paths to values without fields: one scalar and one list at the top level, and one value in each object
/// field.
fn ends(things: &[&Map<String, Value>]) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    let (mut has_scalar, mut has_list) = (false, false);
    for (name, value) in things.iter().flat_map(|thing| thing.iter()) {
        if !is_path(name) {
            continue;
        }
        let is_known = if value.is_array() { &mut has_list } else { &mut has_scalar };
        if is_end(value) && !*is_known {
            *is_known = true;
            found.push(vec![name.clone()]);
        }
        let mut inside = value.as_object().into_iter().flatten();
        let inner = inside.find(|(inner, value)| is_path(inner) && is_end(value));
        if let Some((inner, _)) = inner
            && !found.iter().any(|path| path.len() > 1 && path.first() == Some(name))
        {
            found.push(vec![name.clone(), inner.clone()]);
        }
    }
    found
}

/// Calls every operation with `fields` that contain paths beyond values without fields.
///
/// Passes the path of the value and the exchange to `look`.
async fn each_path_beyond(
    run: &Run,
    cases: &Cases,
    look: impl Fn(&Operation, &[String], &Exchange),
) {
    let look = &look;
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        let Some(all) = full(run, operation, cases).await else { return };
        let paths = all.data().map(|data| ends(&things(data))).unwrap_or_default();
        for path in paths {
            let wanted = json!([format!("{}.{PROBE}", path.join("."))]);
            let more = [("fields", wanted)];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            look(operation, &path, &exchange);
        }
    });
    do_all(jobs).await;
}

/// Returns `true` if the item contains only empty values along the path.
fn is_empty_along(thing: &Map<String, Value>, path: &[String]) -> bool {
    let Some((name, rest)) = path.split_first() else { return thing.is_empty() };
    let shown = thing.iter().filter(|(name, _)| !name.starts_with('_'));
    shown.into_iter().all(|(shown, value)| {
        shown == name
            && match value {
                Value::Null => true,
                Value::Object(inner) => is_empty_along(inner, rest),
                Value::Array(items) => items.is_empty(),
                _ => false,
            }
    })
}

pub(super) async fn path_stops(run: &Run, cases: &Cases) {
    each_path_beyond(run, cases, |operation, path, exchange| {
        let things = exchange.data().map(things).unwrap_or_default();
        let holds =
            exchange.failure().is_some() || things.iter().all(|thing| is_empty_along(thing, path));
        cases.expect(holds, || {
            Finding::of(exchange, about(operation)).expected(format!(
                "a VALIDATION failure, or nothing of `{}`: the path names a field of a value \
                 without fields",
                path.join(".")
            ))
        });
    })
    .await;
}

/// Returns `true` if introspection documents that the value at this path has no fields.
fn is_known_end(run: &Run, operation: &Operation, path: &[String]) -> bool {
    let mut fields = fields_of_type(run, operation);
    for (at, name) in path.iter().enumerate() {
        let Some(field) = fields.into_iter().find(|field| field.name() == Some(name)) else {
            return false;
        };
        if at + 1 == path.len() {
            return field.is_flat() && field.items().is_none_or(Shape::is_flat);
        }
        fields = field.fields();
    }
    false
}

pub(super) async fn path_reported(run: &Run, cases: &Cases) {
    each_path_beyond(run, cases, |operation, path, exchange| {
        if !is_known_end(run, operation, path) {
            return;
        }
        let warnings = exchange.body().and_then(|body| body.get("warnings")?.as_array());
        let is_reported =
            is_refused(exchange) || warnings.is_some_and(|warnings| !warnings.is_empty());
        cases.expect(is_reported, || {
            Finding::of(exchange, about(operation)).expected(format!(
                "a VALIDATION failure or a warning: `{}` has no fields",
                path.join(".")
            ))
        });
    })
    .await;
}
