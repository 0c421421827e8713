//! Checks of `fields`, presets and computed fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::calls::{having, is_refused, params_with, refused_with};
use super::{Body, Check, later, of_level_2 as check, should};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::pages;
use crate::run::{Run, do_all};
use crate::shape::Shape;
use crate::values;

/// The maximum number of items that are searched for one without some field.
const MAX_TRIED_ITEMS: usize = 6;
const PRESETS: [&str; 3] = ["minimal", "standard", "full"];

pub(super) const CHECKS: &[Check] = &[
    check(
        "fields.presets",
        "`fields` accepts `minimal`, `standard` and `full`, each including the one before",
        &["REQ-FLD-01", "REQ-FLD-02"],
        Body::Reads(later!(presets)),
    ),
    check(
        "fields.subset",
        "Only the requested fields are returned",
        &["REQ-FLD-01", "REQ-FLD-07"],
        Body::Reads(later!(subset)),
    ),
    check(
        "fields.nested",
        "A path selects a nested field, which keeps its place",
        &["REQ-FLD-03", "REQ-FLD-04"],
        Body::Reads(later!(nested)),
    ),
    should(check(
        "fields.unknown",
        "A field that the type does not have is rejected",
        &["REQ-FLD-09"],
        Body::Reads(later!(unknown)),
    )),
    check(
        "fields.path_stops",
        "A path beyond a value without fields returns nothing of that value",
        &["REQ-FLD-07", "REQ-FLD-08"],
        Body::Reads(later!(path_stops)),
    ),
    should(check(
        "fields.path_reported",
        "A path beyond a field without fields is rejected or reported in a warning",
        &["REQ-FLD-09"],
        Body::Reads(later!(path_reported)),
    )),
    check(
        "fields.absent_skipped",
        "A field that an item does not have is omitted without an error",
        &["REQ-FLD-08"],
        Body::Reads(later!(absent_skipped)),
    ),
    check(
        "fields.page_untouched",
        "Field selection does not change `pageInfo`",
        &["REQ-FLD-07"],
        Body::Reads(later!(page_untouched)),
    ),
    should(check(
        "fields.computed",
        "Requested computed fields are returned in `_computed`",
        &["REQ-CMP-01"],
        Body::Reads(later!(computed)),
    )),
    check(
        "fields.computed_form",
        "Computed fields are declared with plain names and the types of their values",
        &["REQ-CMP-02", "REQ-CMP-04"],
        Body::Reads(later!(computed_form)),
    ),
    should(check(
        "fields.computed_claims",
        "Computed fields are accepted in `filter` and `sort` exactly as introspection states",
        &["REQ-CMP-03", "REQ-CMP-04"],
        Body::Reads(later!(computed_claims)),
    )),
    should(check(
        "fields.type_listed",
        "`introspect types` lists FieldSelection",
        &["REQ-FLD-10"],
        Body::Learned(type_listed),
    )),
    should(check(
        "fields.default_preset",
        "Without `fields`, single items have all fields and search results the minimal ones",
        &["REQ-FLD-06"],
        Body::Reads(later!(default_preset)),
    )),
];

/// The items whose fields are selected: those of a page, or the single one in `data`.
fn things(data: &Value) -> Vec<&Map<String, Value>> {
    if let Some(items) = pages::items(data) {
        return items.into_iter().filter_map(Value::as_object).collect();
    }
    let Some(members) = data.as_object() else { return Vec::new() };
    // `{"task": {…}}`, or the item itself.
    let mut inner = members.values();
    match (inner.next(), inner.next()) {
        (Some(Value::Object(thing)), None) => vec![thing],
        _ => vec![members],
    }
}

/// The names of all fields of all items.
fn names(data: &Value) -> BTreeSet<&str> {
    things(data).into_iter().flat_map(Map::keys).map(String::as_str).collect()
}

/// Calls an operation with these `fields`, if any.
async fn choose(
    run: &Run,
    operation: &Operation,
    fields: Option<Value>,
    cases: &Cases,
) -> Option<Exchange> {
    let mut params = params_with(run, operation, [], cases)?;
    params.extend(fields.map(|fields| ("fields".to_owned(), fields)));
    run.call(operation, params, cases).await
}

/// Calls an operation with all fields. Skips the case if the result is empty.
async fn full(run: &Run, operation: &Operation, cases: &Cases) -> Option<Exchange> {
    let exchange = choose(run, operation, Some(json!("full")), cases).await?;
    let has_any = exchange.data().is_some_and(|data| !names(data).is_empty());
    if !has_any {
        cases.skip(Skip::Scarce(format!(
            "`{}` returned no fields to select ({})",
            operation.name,
            exchange.summary()
        )));
        return None;
    }
    Some(exchange)
}

fn about(operation: &Operation) -> String {
    format!("{}: fields", operation.name)
}

async fn presets(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        if full(run, operation, cases).await.is_none() {
            return;
        }
        let mut before: BTreeSet<String> = BTreeSet::new();
        for preset in PRESETS {
            let chosen = choose(run, operation, Some(json!(preset)), cases).await;
            let Some(exchange) = chosen else { return };
            let names = exchange.data().map(names).unwrap_or_default();
            let has_all = before.iter().all(|name| names.contains(name.as_str()));
            cases.expect(!names.is_empty() && has_all, || {
                Finding::of(
                    &exchange,
                    about(operation),
                    format!("the fields of `{preset}`, and among them {before:?}"),
                    "accept the three presets, each with the fields of the one before",
                )
            });
            before = names.into_iter().map(str::to_owned).collect();
        }
    });
    do_all(jobs).await;
}

/// Whether a name may be part of a path.
fn is_path(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

async fn subset(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        let Some(all) = full(run, operation, cases).await else { return };
        let all = all.data().map(names).unwrap_or_default();
        let chosen: Vec<_> = all.iter().copied().filter(|name| is_path(name)).take(2).collect();
        for wanted in [chosen.get(..1), chosen.get(..2)].into_iter().flatten() {
            let answer = choose(run, operation, Some(json!(wanted)), cases).await;
            let Some(exchange) = answer else { return };
            let things = exchange.data().map(things).unwrap_or_default();
            let is_subset = !things.is_empty()
                && things.iter().all(|thing| {
                    thing.keys().all(|name| {
                        // Members that the protocol adds, such as `_version`, are not fields of the item.
                        name.starts_with('_') || wanted.contains(&name.as_str())
                    })
                })
                && things.iter().any(|thing| !thing.is_empty());
            cases.expect(is_subset, || {
                Finding::of(
                    &exchange,
                    about(operation),
                    format!("{wanted:?} and no other fields"),
                    "omit all fields that were not requested, including identifiers",
                )
            });
        }
    });
    do_all(jobs).await;
}

/// An object field and a field of it.
fn path(things: &[&Map<String, Value>]) -> Option<(String, String)> {
    things.iter().flat_map(|thing| thing.iter()).find_map(|(name, value)| {
        let inner = value.as_object()?.keys().find(|inner| is_path(inner))?;
        is_path(name).then(|| (name.clone(), inner.clone()))
    })
}

async fn nested(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        let Some(all) = full(run, operation, cases).await else { return };
        let Some((outer, inner)) = all.data().and_then(|data| path(&things(data))) else {
            let fields = fields_of_type(run, operation);
            if !fields.is_empty() && fields.iter().all(|field| field.is_flat()) {
                return cases.not_applicable("no type of an item has nested fields");
            }
            return cases.skip(Skip::Scarce(format!(
                "an item of `{}` with a nested field",
                operation.name
            )));
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
            Finding::of(
                &exchange,
                about(operation),
                format!("{{\"{outer}\": {{\"{inner}\": …}}}} and nothing else"),
                "follow dotted paths into objects, and keep the enclosing objects in the result",
            )
        });
    });
    do_all(jobs).await;
}

async fn unknown(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().flat_map(|operation| {
        [json!(["conformance_probe"]), json!("conformance_probe")].map(|fields| async move {
            let more = [("fields", fields)];
            let Some(exchange) = refused_with(run, operation, more, cases).await else { return };
            cases.expect(is_refused(&exchange), || {
                Finding::of(
                    &exchange,
                    about(operation),
                    "a VALIDATION failure that names `conformance_probe`",
                    "reject fields that the type does not have",
                )
            });
        })
    });
    do_all(jobs).await;
}

/// A name of no field.
const PROBE: &str = "conformance_probe";

/// Whether a value certainly has no fields: a scalar, or a list of scalars.
fn is_end(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            !items.is_empty() && items.iter().all(|item| !item.is_object() && !item.is_array())
        }
        Value::Null | Value::Object(_) => false,
        _ => true,
    }
}

/// Paths to values without fields: one scalar and one list of the top level, and one value in each object
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

/// Calls every operation with `fields` with paths beyond values without fields. Passes the path of the
/// value and the exchange to `look`.
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

/// Whether the item contains only empty objects along the path.
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

async fn path_stops(run: &Run, cases: &Cases) {
    each_path_beyond(run, cases, |operation, path, exchange| {
        let things = exchange.data().map(things).unwrap_or_default();
        let holds = exchange.failure().is_some()
            || things.iter().all(|thing| is_empty_along(thing, path));
        cases.expect(holds, || {
            Finding::of(
                exchange,
                about(operation),
                format!(
                "a VALIDATION failure, or nothing of `{}`: the path names a field of a value without fields",
                    path.join(".")
                ),
                "treat a path beyond a value without fields as a missing field",
            )
        });
    })
    .await;
}

/// Whether introspection documents that the value at this path has no fields.
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

async fn path_reported(run: &Run, cases: &Cases) {
    each_path_beyond(run, cases, |operation, path, exchange| {
        if !is_known_end(run, operation, path) {
            return;
        }
        let warnings = exchange.body().and_then(|body| body.get("warnings")?.as_array());
        let is_reported =
            is_refused(exchange) || warnings.is_some_and(|warnings| !warnings.is_empty());
        cases.expect(is_reported, || {
            Finding::of(
                exchange,
                about(operation),
                format!("a VALIDATION failure or a warning: `{}` has no fields", path.join(".")),
                "check every part of a path against the fields of the type",
            )
        });
    })
    .await;
}

async fn absent_skipped(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        let Some((params, absent)) = lacking(run, operation, cases).await else { return };
        for name in absent {
            let mut params = params.clone();
            params.insert("fields".to_owned(), json!([name]));
            let Some(exchange) = run.call(operation, params, cases).await else { return };
            let things = exchange.data().map(things).unwrap_or_default();
            let is_left_out = exchange.succeeded()
                && things
                    .iter()
                    .all(|thing| thing.get(name).is_none_or(Value::is_null) && thing.len() <= 1);
            cases.expect(is_left_out, || {
                Finding::of(
                    &exchange,
                    format!("{}: {name}", about(operation)),
                    "a success without the field",
                    "omit fields that an item does not have, in the same way for all items",
                )
            });
        }
    });
    do_all(jobs).await;
}

/// Returns parameters with which an operation returns an item that lacks optional fields, and these fields.
/// Skips the case if there is none.
async fn lacking<'a>(
    run: &'a Run,
    operation: &'a Operation,
    cases: &Cases,
) -> Option<(Map<String, Value>, Vec<&'a str>)> {
    let fields = fields_of_type(run, operation);
    let optional: Vec<_> = fields
        .iter()
        .filter(|field| !field.is_required())
        .filter_map(|field| field.name())
        .collect();
    if !fields.is_empty() && optional.is_empty() {
        cases.not_applicable("no type of an item has a field that may be absent");
        return None;
    }
    let mut shows_nulls = false;
    let mut shows_any = false;
    for turn in 0..MAX_TRIED_ITEMS {
        let Ok(mut params) = values::valid(run, operation, turn) else { continue };
        if pages::is_paged(operation) {
            // A single item lacks more fields than a page of items.
            params.insert("first".to_owned(), json!(1));
        }
        let mut all = params.clone();
        all.insert("fields".to_owned(), json!("full"));
        let exchange = run.call(operation, all, cases).await?;
        let Some(data) = exchange.data() else { continue };
        let shown = names(data);
        let mut absent: Vec<_> = fields.iter().filter_map(|field| field.name()).collect();
        absent.retain(|name| is_path(name) && !shown.contains(name));
        absent.truncate(2);
        if !shown.is_empty() && !absent.is_empty() {
            return Some((params, absent));
        }
        let is_null = |thing: &&Map<String, Value>| {
            optional.iter().any(|name| thing.get(*name) == Some(&Value::Null))
        };
        shows_nulls |= absent.is_empty() && things(data).iter().any(is_null);
        shows_any |= !shown.is_empty();
    }
    if shows_nulls {
        // The null states that the field is missing.
        cases.not_applicable("items show null for a field that they do not have");
        return None;
    }
    if shows_any {
        cases.not_applicable("items show every field of their type");
        return None;
    }
    cases.skip(Skip::Scarce(format!("`{}` returns nothing", operation.name)));
    None
}

/// The fields of an operation's item type, as introspection documents them.
fn fields_of_type<'a>(run: &'a Run, operation: &'a Operation) -> Vec<Shape<'a>> {
    let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
    let fields = |name: &str| -> Vec<&'a Value> {
        let known = run.adapter.types.iter().find(|known| known.name == name);
        let fields = known.and_then(|known| known.reply.pointer("/data/type/fields")?.as_array());
        fields.into_iter().flatten().collect()
    };
    let mut found = returned.map(fields).unwrap_or_default();
    let items = found.iter().find(|field| field.get("name").is_some_and(|name| name == "items"));
    if let Some(item) = items.and_then(|items| items.pointer("/items/type")?.as_str()) {
        found = fields(item);
    }
    let shapes = found.into_iter().filter_map(Value::as_object);
    shapes.map(|field| Shape::new(field, &run.adapter.types)).collect()
}

async fn page_untouched(run: &Run, cases: &Cases) {
    let mut operations = having(run, "fields", cases);
    operations.retain(|operation| pages::is_paged(operation));
    if operations.is_empty() {
        cases.not_applicable("no operation documents both `fields` and `first`");
    }
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(all) = full(run, operation, cases).await else { return };
        let Some(name) =
            all.data().and_then(|data| names(data).into_iter().find(|name| is_path(name)))
        else {
            return;
        };
        let chosen = choose(run, operation, Some(json!([name])), cases).await;
        let Some(exchange) = chosen else { return };
        // The booleans and counts of `pageInfo`. Cursors may differ between calls.
        let info = |exchange: &Exchange| {
            let mut info = exchange.data().and_then(pages::info).cloned()?;
            info.retain(|_, value| value.is_boolean() || value.is_number());
            Some(info)
        };
        let has_cursor = |exchange: &Exchange| {
            exchange.data().and_then(|data| pages::cursor(data, "endCursor")).is_some()
        };
        let is_untouched = info(&exchange).is_some()
            && info(&exchange) == info(&all)
            && has_cursor(&exchange) == has_cursor(&all);
        cases.expect(is_untouched, || {
            Finding::of(
                &exchange,
                about(operation),
                "the same `pageInfo` as with all fields",
                "apply `fields` to items, not to the page",
            )
        });
    });
    do_all(jobs).await;
}

/// The computed fields that the details of an operation document.
fn declared(operation: &Operation) -> impl Iterator<Item = &Value> {
    operation.details().get("computed_fields").and_then(Value::as_array).into_iter().flatten()
}

fn with_computed<'a>(run: &'a Run, cases: &Cases) -> Vec<&'a Operation> {
    let operations: Vec<_> =
        run.adapter.reads().filter(|operation| declared(operation).next().is_some()).collect();
    if operations.is_empty() {
        cases.not_applicable("no operation documents `computed_fields`");
    }
    operations
}

/// The values of a computed field in all items.
fn computed_in<'a>(data: &'a Value, name: &str) -> Vec<&'a Value> {
    let within = |thing: &&'a Map<String, Value>| thing.get("_computed")?.get(name);
    things(data).iter().filter_map(within).collect()
}

async fn computed(run: &Run, cases: &Cases) {
    let jobs = with_computed(run, cases).into_iter().map(|operation| async move {
        if full(run, operation, cases).await.is_none() {
            return;
        }
        for field in declared(operation) {
            let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
            let wanted = Some(json!([format!("_computed.{name}")]));
            let Some(exchange) = choose(run, operation, wanted, cases).await else { return };
            let is_there = exchange.data().is_some_and(|data| !computed_in(data, name).is_empty());
            cases.expect(is_there, || {
                Finding::of(
                    &exchange,
                    format!("{}: _computed.{name}", operation.name),
                    format!("{{\"_computed\": {{\"{name}\": …}}}} in the items"),
                    "return every documented computed field on request",
                )
            });
        }
    });
    do_all(jobs).await;
}

async fn computed_form(run: &Run, cases: &Cases) {
    let jobs = with_computed(run, cases).into_iter().map(|operation| async move {
        for field in declared(operation) {
            let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
            let kind = field.get("type").and_then(Value::as_str).unwrap_or_default();
            let is_named = cases.expect(is_path(name) && !kind.is_empty(), || {
                Finding::shown(
                    format!("{}: computed_fields", operation.name),
                    field.clone(),
                    "a `name` in snake_case, without `_computed.`, and a `type`",
                    "document the plain name; requests add the prefix `_computed.`",
                )
            });
            if !is_named {
                continue;
            }
            let wanted = Some(json!([format!("_computed.{name}")]));
            let Some(exchange) = choose(run, operation, wanted, cases).await else { return };
            let found = exchange.data().map(|data| computed_in(data, name)).unwrap_or_default();
            let is_of_kind = |value: &&Value| match kind {
                "string" => value.is_string(),
                "integer" => value.is_i64() || value.is_u64(),
                "number" => value.is_number(),
                "boolean" => value.is_boolean(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                _ => true,
            };
            cases.expect(found.iter().all(|value| value.is_null() || is_of_kind(value)), || {
                Finding::of(
                    &exchange,
                    format!("{}: _computed.{name}", operation.name),
                    format!("values of type {kind}"),
                    "document the type of the computed values",
                )
            });
        }
    });
    do_all(jobs).await;
}

async fn computed_claims(run: &Run, cases: &Cases) {
    let jobs = with_computed(run, cases).into_iter().map(|operation| async move {
        for field in declared(operation) {
            let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
            let path = format!("_computed.{name}");
            let Some(exchange) = choose(run, operation, Some(json!([path])), cases).await else {
                return;
            };
            let found = exchange.data().map(|data| computed_in(data, name)).unwrap_or_default();
            let Some(value) = found.into_iter().find(|value| !value.is_null()) else { continue };
            for (claim, parameter, sent) in [
                ("filterable", "filter", json!({ path.as_str(): value })),
                ("sortable", "sort", json!({ "field": path })),
            ] {
                let claimed = field.get(claim).and_then(Value::as_bool);
                let Some(claimed) = claimed.filter(|_| operation.parameter(parameter).is_some())
                else {
                    continue;
                };
                let tried = refused_with(run, operation, [(parameter, sent)], cases).await;
                let Some(tried) = tried else { return };
                cases.expect(is_refused(&tried) != claimed, || {
                    Finding::of(
                        &tried,
                        format!("{}: {parameter} by {path}", operation.name),
                        match claimed {
                            true => {
                                format!("a success, because introspection states `{claim}: true`")
                            }
                            false => {
                                format!("a failure, because introspection states `{claim}: false`")
                            }
                        },
                        "state for each computed field whether it is filterable and sortable",
                    )
                });
            }
        }
    });
    do_all(jobs).await;
}

fn type_listed(run: &Run, cases: &Cases) {
    if having(run, "fields", cases).is_empty() {
        return;
    }
    let found = run.adapter.types.iter().find(|known| known.name == "FieldSelection");
    let details = found.and_then(|found| found.reply.pointer("/data/type"));
    let names: Vec<_> = details
        .and_then(|details| details.get("fields")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(|field| field.get("name")?.as_str())
        .collect();
    cases.expect(["presets", "fields"].iter().all(|name| names.contains(name)), || {
        Finding::shown(
            "introspect types",
            details.cloned().unwrap_or_default(),
            "an object FieldSelection with `presets`, `fields` and `computed_fields`",
            "list the type, so that clients can see the fields to select",
        )
    });
}

async fn default_preset(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        let Some(all) = full(run, operation, cases).await else { return };
        let Some(plain) = choose(run, operation, None, cases).await else { return };
        let is_page = all.data().is_some_and(|data| pages::items(data).is_some());
        let preset = match operation.name.split('_').next() {
            Some("search") => "minimal",
            _ if is_page => "standard",
            _ => "full",
        };
        let chosen = choose(run, operation, Some(json!(preset)), cases).await;
        let Some(expected) = chosen else { return };
        let of = |exchange: &Exchange| -> BTreeSet<String> {
            exchange.data().map(names).unwrap_or_default().into_iter().map(str::to_owned).collect()
        };
        cases.expect(of(&plain) == of(&expected), || {
            Finding::of(
                &plain,
                about(operation),
                format!("the fields of `{preset}`: {:?}", of(&expected)),
                "default to `full` for one item, `standard` for a list and `minimal` for a search",
            )
        });
    });
    do_all(jobs).await;
}
