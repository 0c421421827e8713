//! Checks of the parameter `fields`, of presets and of computed fields.

mod absent;
mod computed;
mod paths;
mod selection;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Check, checks};
use crate::adapter::{Operation, Type};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{having, valid};
use crate::checks::planned::rejected;
use crate::pages;
use crate::run::Run;
use crate::shape::Shape;

pub(super) const CHECKS: &[Check] = checks![
    Should 2 "fields.offered" => Learned(offered), ["REQ-CNF-02"],
        "READ operations accept `fields`, as level 2 recommends",
        expected: "a READ operation with the parameter `fields`: level 2 recommends field selection (SHOULD), so its \
         absence is a warning, not a failure",
        fix: "accept `fields`, a list of field names or one of `minimal`, `standard` and `full`, and document the \
         parameter; level 2 is granted without this";
    Must 2 "fields.presets" => Reads(selection::presets), ["REQ-FLD-01", "REQ-FLD-02"],
        "`fields` accepts `minimal`, `standard` and `full`, each including the one before",
        fix: "accept the three presets, each with the fields of the one before";
    Must 2 "fields.subset" => Reads(selection::subset), ["REQ-FLD-01", "REQ-FLD-07"],
        "Only the requested fields are returned",
        fix: "omit all fields that were not requested, including identifiers";
    Must 2 "fields.nested" => Reads(paths::nested), ["REQ-FLD-03", "REQ-FLD-04"],
        "A path selects a nested field inside its enclosing objects",
        fix: "follow dotted paths into objects, and keep the enclosing objects in the result";
    Should 2 "fields.unknown" => Reads { calls: selection::unknown, rule: rejected }, ["REQ-FLD-09"],
        "A field that the type does not have is rejected",
        expected: "a VALIDATION failure that names `conformance_probe`",
        fix: "reject fields that the type does not have";
    Must 2 "fields.path_stops" => Reads(paths::path_stops), ["REQ-FLD-07", "REQ-FLD-08"],
        "A path into a value without fields returns nothing of that value",
        fix: "treat a path into a value without fields as a missing field";
    Should 2 "fields.path_reported" => Reads(paths::path_reported), ["REQ-FLD-09"],
        "A path into a field without fields is rejected or reported in a warning",
        fix: "check every part of a path against the fields of the type";
    Must 2 "fields.absent_skipped" => Reads(absent::absent_skipped), ["REQ-FLD-08"],
        "A field that an item does not have is omitted without an error",
        expected: "a success without the field",
        fix: "omit fields that an item does not have, in the same way for all items";
    Must 2 "fields.page_untouched" => Reads(selection::page_untouched), ["REQ-FLD-07"],
        "Field selection does not change `pageInfo`",
        expected: "the same `pageInfo` as with all fields",
        fix: "apply `fields` to items, not to the page";
    Should 2 "fields.computed" => Reads(computed::computed), ["REQ-CMP-01"],
        "Requested computed fields are returned in `_computed`",
        fix: "return every documented computed field on request";
    Must 2 "fields.computed_form" => Reads(computed::computed_form), ["REQ-CMP-02", "REQ-CMP-04"],
        "Computed fields are declared with plain names and the types of their values",
        fix: "document the plain name; requests add the prefix `_computed.`";
    Should 2 "fields.computed_claims" => Reads(computed::computed_claims),
        ["REQ-CMP-03", "REQ-CMP-04"],
        "Computed fields are accepted in `filter` and `sort` exactly as introspection states",
        fix: "state for each computed field whether it is filterable and sortable";
    Should 2 "fields.type_listed" => Learned(type_listed), ["REQ-FLD-10"],
        "`introspect types` lists FieldSelection",
        expected: "an object FieldSelection with `presets`, `fields` and `computed_fields`",
        fix: "list the type, so that clients can see the fields to select";
    Should 2 "fields.default_preset" => Reads(selection::default_preset), ["REQ-FLD-06"],
        "Without `fields`, single items have all fields and search results the minimal ones",
        fix: "default to `full` for one item, `standard` for a list and `minimal` for a search";
];

/// Returns the items whose fields are selected: those of a page, or the single item in `data`.
fn things(data: &Value) -> Vec<&Map<String, Value>> {
    if let Some(items) = pages::items(data) {
        return items.into_iter().filter_map(Value::as_object).collect();
    }
    let Some(members) = data.as_object() else { return Vec::new() };
    // The item may be wrapped, as in `{"task": {…}}`.
    let mut inner = members.values();
    match (inner.next(), inner.next()) {
        (Some(Value::Object(thing)), None) => vec![thing],
        _ => vec![members],
    }
}

/// Returns the names of all fields of all items.
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
    let mut params = valid(run, operation, cases)?;
    params.extend(fields.map(|fields| ("fields".to_owned(), fields)));
    run.call(operation, params, cases).await
}

/// Calls an operation with all fields. Skips the case if the result is empty.
async fn full(run: &Run, operation: &Operation, cases: &Cases) -> Option<Exchange> {
    let exchange = choose(run, operation, Some(json!("full")), cases).await?;
    let has_any = exchange.data().is_some_and(|data| !names(data).is_empty());
    if !has_any {
        cases.skip_scarce(format!(
            "`{}` returned no fields to select ({})",
            operation.name,
            exchange.summary()
        ));
        return None;
    }
    Some(exchange)
}

fn about(operation: &Operation) -> String {
    format!("{}: fields", operation.name)
}

/// Returns `true` if a name may be a segment of a field path.
fn is_path(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

/// Returns the documented fields of the items that an operation returns.
pub(super) fn fields_of_type<'a>(run: &'a Run, operation: &'a Operation) -> Vec<Shape<'a>> {
    let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
    let fields = |name: &str| -> Vec<&'a Value> {
        let known = run.adapter.types.iter().find(|known| known.name == name);
        let fields = known.and_then(|known| known.details().get("fields")?.as_array());
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

fn offered(run: &Run, cases: &Cases) {
    let reads: Vec<_> = run.adapter.reads().collect();
    if reads.is_empty() {
        return cases.not_applicable("there is no READ operation other than `introspect`");
    }
    let is_offered = reads.iter().any(|operation| operation.parameter("fields").is_some());
    cases.expect(is_offered, || {
        Finding::shown(
            "READ operations",
            reads.iter().map(|operation| operation.name.as_str()).collect::<Vec<_>>(),
        )
    });
}

fn type_listed(run: &Run, cases: &Cases) {
    if having(run, "fields", cases).is_empty() {
        return;
    }
    let found = run.adapter.types.iter().find(|known| known.name == "FieldSelection");
    let details = found.map(Type::details);
    let names: Vec<_> = details
        .and_then(|details| details.get("fields")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(|field| field.get("name")?.as_str())
        .collect();
    cases.expect(["presets", "fields"].iter().all(|name| names.contains(name)), || {
        Finding::shown("introspect types", details.cloned().unwrap_or_default())
    });
}
