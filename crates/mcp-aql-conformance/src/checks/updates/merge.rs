//! Checks that updates change the fields in `input` and no others, and helpers for checks of merges.

use serde_json::{Map, Value};

use super::{Subject, only, subjects};
use crate::cases::{Cases, Finding};
use crate::checks::creates::agrees;
use crate::checks::stated_changes::StatedChanges;
use crate::items::Field;
use crate::resources::Role;
use crate::run::Run;
use crate::shape::Shape;

pub(super) fn member<'v>(object: &'v Value, name: &str) -> &'v Value {
    object.get(name).unwrap_or(&Value::Null)
}

pub(super) async fn result_matches(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let Some(now) = subject.stored().await else { continue };
        // Use a field with a value, because results may omit fields without one.
        let field = subject.thing.resource.changeable(run).into_iter().find_map(|field| {
            let value = now.get(field.name).filter(|value| !value.is_null())?;
            Some((field.name, field.other(run, value)?))
        });
        let Some((name, value)) = field else { continue };
        let changed = subject.changed(only(name, value)).await;
        let Some((updated, stored)) = changed else { continue };
        agrees(run, &subject.thing, &updated, &stored, cases);
    }
}

pub(super) async fn overwrites(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let Some(now) = subject.stored().await else { continue };
        let fields = subject.thing.resource.changeable(run);
        let shown: Vec<_> = fields.iter().filter(|field| !field.is_sensitive).collect();
        let word = format!("Z{}", run.resources().next_number());
        let plain = |field: &Field<'_>| field.other(run, member(&now, field.name));
        let hard = |field: &Field<'_>| {
            let changes = stated_changes(&subject, &fields, field.name);
            changes.hard_text(&word, field.shape)
        };
        let plain = inputs_of(&shown, plain);
        let hard = inputs_of(&shown, hard);
        if plain.is_empty() {
            // Without a field to change, this call skips the case with the reason.
            subject.change().await;
        }
        let mut all = plain.clone();
        all.extend(hard.clone());
        let Some(tried) = subject.send(all.clone().into()).await else {
            continue;
        };
        if !tried.succeeded() && subject.stored().await.is_none() {
            continue;
        }
        let mut inputs = vec![all];
        if !tried.succeeded() {
            // The values may violate a rule together, so try each on its own. Replace rejected strings by plain ones.
            inputs.clear();
            for (name, value) in plain {
                let text = hard.get(&name).map(|text| only(&name, text.clone()));
                let is_accepted = match text {
                    Some(input) => subject.send(input).await,
                    None => None,
                }
                .is_some_and(|exchange| exchange.succeeded());
                let hard = hard.get(&name).filter(|_| is_accepted).cloned();
                inputs.push(Map::from_iter([(name, hard.unwrap_or(value))]));
            }
        }
        for input in inputs {
            are_stored(&subject, &fields, &input).await;
        }
    }
}

/// Returns an `input` with these fields. Fields for which `value` returns `None` are left out.
fn inputs_of(
    fields: &[&Field<'_>],
    value: impl Fn(&Field<'_>) -> Option<Value>,
) -> Map<String, Value> {
    fields.iter().filter_map(|field| Some((field.name.to_owned(), value(field)?))).collect()
}

/// Sends an `input` and compares its values with the item read afterwards.
async fn are_stored(subject: &Subject<'_>, fields: &[Field<'_>], input: &Map<String, Value>) {
    let cases = subject.cases;
    let changed = subject.changed(input.clone().into()).await;
    let Some((exchange, after)) = changed else { return };
    for (name, value) in input {
        let changes = stated_changes(subject, fields, name);
        cases.expect(changes.allow(value, member(&after, name)), || {
            Finding::of(&exchange, subject.field(name))
                .expected(format!("`{name}` with the new value {value} after the update"))
                .received(after.clone())
        });
    }
}

/// Returns the changes to stored values that the descriptions of a field announce.
fn stated_changes(subject: &Subject<'_>, fields: &[Field<'_>], name: &str) -> StatedChanges {
    let run = subject.run;
    let create = subject.thing.resource.operation(&run.adapter, Role::Create);
    let parameter = create.and_then(|create| create.parameter(name));
    StatedChanges::of(parameter, fields.iter().find(|field| field.name == name))
}

pub(super) async fn preserves(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let Some(mut now) = subject.stored().await else { continue };
        let kind = subject.thing.resource;
        let watched = kind.settable(run);
        // An update must not change the time of creation either, so watch it, too.
        let created = kind.unchangeable(run).into_iter().filter(|name| name.starts_with("created"));
        let watched: Vec<_> = watched.into_iter().chain(created).chain([kind.id.clone()]).collect();
        for field in kind.changeable(run) {
            let Some(value) = field.other(run, member(&now, field.name)) else { continue };
            let changed = subject.changed(only(field.name, value)).await;
            let Some((exchange, after)) = changed else { continue };
            let lost: Vec<_> = watched
                .iter()
                .filter(|name| *name != field.name && member(&now, name) != member(&after, name))
                .collect();
            cases.expect(lost.is_empty(), || {
                Finding::of(&exchange, subject.field(field.name))
                    .expected(format!(
                        "all other fields unchanged; the item before the update was {now}"
                    ))
                    .received(after.clone())
            });
            now = after;
        }
    }
}

/// Generates a value of this shape with all its nested fields.
pub(super) fn whole(shape: Shape<'_>) -> Option<Value> {
    whole_within(shape, 0)
}

/// Generates a value like `whole`, starting at this depth. The depth is limited, because types may be recursive.
fn whole_within(shape: Shape<'_>, depth: usize) -> Option<Value> {
    const MAX_DEPTH: usize = 3;
    let fields = shape.fields();
    if fields.is_empty() {
        return shape.made(1);
    }
    if depth >= MAX_DEPTH {
        return None;
    }
    let members = fields
        .into_iter()
        .filter_map(|field| Some((field.name()?.to_owned(), whole_within(field, depth + 1)?)));
    Some(Value::Object(members.collect())).filter(|made| shape.accepts(made))
}

/// Skips the check if a resource documents no changeable fields, or marks it as not applicable if no field suits it.
///
/// `what` completes the sentence about the fields, for example "is a list".
pub(super) fn without(subjects: &[Subject<'_>], has_any: bool, what: &str) {
    let Some(Subject { run, cases, .. }) = subjects.first() else { return };
    let undocumented = subjects.iter().find(|it| it.thing.resource.changeable(run).is_empty());
    match undocumented {
        Some(subject) => cases.skip_without(format!(
            "fields that `{}` changes: document them in a type that `input` names",
            subject.update.name
        )),
        None if !has_any => {
            cases.not_applicable(format!("no field that an UPDATE operation changes {what}"));
        }
        None => {}
    }
}

/// Returns the item with a value in this field. Stores a value first if the field is empty.
pub(super) async fn filled(subject: &Subject<'_>, field: Field<'_>) -> Option<Value> {
    let now = subject.stored().await?;
    let is_filled = match member(&now, field.name) {
        Value::Null => false,
        // A merge test needs a second member, because only another member can get lost.
        Value::Object(members) => {
            members.values().filter(|value| !value.is_null()).count() > 1
                || field.shape.fields().len() < 2
        }
        _ => true,
    };
    if is_filled {
        return Some(now);
    }
    match whole(field.shape) {
        Some(value) => {
            let changed = subject.changed(only(field.name, value)).await;
            changed.map(|(_, after)| after)
        }
        None => Some(now),
    }
}

/// Returns the documented shape of the values of a map, or `None` if the field is not a map.
pub(super) fn values_of(field: Field<'_>) -> Option<Shape<'_>> {
    field.shape.items().filter(|_| field.shape.word() == "object")
}
