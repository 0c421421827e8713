//! Checks of how updates merge into stored items.

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
        let Some(now) = run.stored(&subject.thing, cases).await else { continue };
        // A field with a value, because results may omit fields without one.
        let field = subject.thing.resource.changeable(run).into_iter().find_map(|field| {
            let value = now.get(field.name).filter(|value| !value.is_null())?;
            Some((field.name, field.other(run, value)?))
        });
        let Some((name, value)) = field else { continue };
        let changed = subject.changed(run, only(name, value), cases).await;
        let Some((updated, stored)) = changed else { continue };
        agrees(run, &subject.thing, &updated, &stored, cases);
    }
}

pub(super) async fn overwrites(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let Some(now) = run.stored(&subject.thing, cases).await else { continue };
        let fields = subject.thing.resource.changeable(run);
        let shown: Vec<_> = fields.iter().filter(|field| !field.is_sensitive).collect();
        let word = format!("Z{}", run.resources().next_number());
        let plain = |field: &Field<'_>| field.other(run, member(&now, field.name));
        let hard = |field: &Field<'_>| {
            let changes = stated_changes(run, &subject, &fields, field.name);
            changes.hard_text(&word, field.shape)
        };
        let plain = inputs_of(&shown, plain);
        let hard = inputs_of(&shown, hard);
        if plain.is_empty() {
            // The call records the reason for the skip.
            subject.change(run, cases).await;
        }
        let mut all = plain.clone();
        all.extend(hard.clone());
        let Some(tried) = subject.call(run, [("input", all.clone().into())], cases).await else {
            continue;
        };
        if !tried.succeeded() && run.stored(&subject.thing, cases).await.is_none() {
            continue;
        }
        let mut inputs = vec![all];
        if !tried.succeeded() {
            // The values may violate a rule together, so each is tried on its own; texts that are rejected are replaced
            // by plain ones.
            inputs.clear();
            for (name, value) in plain {
                let text = hard.get(&name).map(|text| only(&name, text.clone()));
                let is_accepted = match text {
                    Some(input) => subject.call(run, [("input", input)], cases).await,
                    None => None,
                }
                .is_some_and(|exchange| exchange.succeeded());
                let hard = hard.get(&name).filter(|_| is_accepted).cloned();
                inputs.push(Map::from_iter([(name, hard.unwrap_or(value))]));
            }
        }
        for input in inputs {
            are_stored(run, &subject, &fields, &input, cases).await;
        }
    }
}

/// The values of fields, by the name of the field.
fn inputs_of(
    fields: &[&Field<'_>],
    value: impl Fn(&Field<'_>) -> Option<Value>,
) -> Map<String, Value> {
    fields.iter().filter_map(|field| Some((field.name.to_owned(), value(field)?))).collect()
}

/// Sends an `input`, and compares its values with the item as read afterwards.
async fn are_stored(
    run: &Run,
    subject: &Subject<'_>,
    fields: &[Field<'_>],
    input: &Map<String, Value>,
    cases: &Cases,
) {
    let changed = subject.changed(run, input.clone().into(), cases).await;
    let Some((exchange, after)) = changed else { return };
    for (name, value) in input {
        let changes = stated_changes(run, subject, fields, name);
        cases.expect(changes.allow(value, member(&after, name)), || Finding {
            received: after.clone(),
            ..Finding::of(
                &exchange,
                subject.field(name),
                format!("`{name}` with the new value {value} after the update"),
                "store the values in `input` unchanged; if the adapter is meant to trim a text or to change its \
                 case or its spaces, say so in the description of the field",
            )
        });
    }
}

/// The changes of stored values that the descriptions of a field state.
fn stated_changes(
    run: &Run,
    subject: &Subject<'_>,
    fields: &[Field<'_>],
    name: &str,
) -> StatedChanges {
    let create = subject.thing.resource.operation(&run.adapter, Role::Create);
    let parameter = create.and_then(|create| create.parameter(name));
    StatedChanges::of(parameter, fields.iter().find(|field| field.name == name))
}

pub(super) async fn preserves(run: &Run, cases: &Cases) {
    for subject in subjects(run, cases).await {
        let Some(mut now) = run.stored(&subject.thing, cases).await else { continue };
        let kind = subject.thing.resource;
        let watched = kind.settable(run);
        // The time of creation does not change either.
        let created = kind.unchangeable(run).into_iter().filter(|name| name.starts_with("created"));
        let watched: Vec<_> = watched.into_iter().chain(created).chain([kind.id.clone()]).collect();
        for field in kind.changeable(run) {
            let Some(value) = field.other(run, member(&now, field.name)) else { continue };
            let changed = subject.changed(run, only(field.name, value), cases).await;
            let Some((exchange, after)) = changed else { continue };
            let lost: Vec<_> = watched
                .iter()
                .filter(|name| *name != field.name && member(&now, name) != member(&after, name))
                .collect();
            cases.expect(lost.is_empty(), || Finding {
                received: after.clone(),
                ..Finding::of(
                    &exchange,
                    subject.field(field.name),
                    format!("all other fields unchanged; the item before the update was {now}"),
                    "change only the fields in `input`",
                )
            });
            now = after;
        }
    }
}

/// A complete value for a field of an object.
pub(super) fn whole(shape: Shape<'_>) -> Option<Value> {
    whole_within(shape, 0)
}

/// Types may be recursive, so the depth is limited.
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

/// Skips the check or marks it as not applicable if no suitable field is documented.
pub(super) fn without(
    run: &Run,
    subjects: &[Subject<'_>],
    has_any: bool,
    what: &str,
    cases: &Cases,
) {
    let undocumented =
        subjects.iter().find(|subject| subject.thing.resource.changeable(run).is_empty());
    match undocumented {
        Some(subject) => cases.skip_without(format!(
            "fields that `{}` changes: document them in a type that `input` names",
            subject.update.name
        )),
        None if !subjects.is_empty() && !has_any => {
            cases.not_applicable(format!("no field that an UPDATE operation changes {what}"));
        }
        None => {}
    }
}

/// Reads an item, after storing an object in a field of it.
pub(super) async fn filled(
    run: &Run,
    subject: &Subject<'_>,
    field: Field<'_>,
    cases: &Cases,
) -> Option<Value> {
    let now = run.stored(&subject.thing, cases).await?;
    let is_filled = match member(&now, field.name) {
        Value::Null => false,
        // A loss shows only beside another member.
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
            let changed = subject.changed(run, only(field.name, value), cases).await;
            changed.map(|(_, after)| after)
        }
        None => Some(now),
    }
}

/// The documented form of the values of a map.
pub(super) fn values_of(field: Field<'_>) -> Option<Shape<'_>> {
    field.shape.items().filter(|_| field.shape.word() == "object")
}
