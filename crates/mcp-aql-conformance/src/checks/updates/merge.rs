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
            Some((field.name, field.other(value)?))
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
        let shown = fields.iter().filter(|field| !field.is_sensitive);
        let news =
            shown.filter_map(|field| Some((field.name, field.other(member(&now, field.name))?)));
        let news: Vec<_> = news.collect();
        if news.is_empty() {
            // The call records the reason for the skip.
            subject.change(run, cases).await;
        }
        let all: Map<_, _> =
            news.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let Some(tried) = subject.call(run, [("input", all.clone().into())], cases).await else {
            continue;
        };
        if !tried.succeeded() && run.stored(&subject.thing, cases).await.is_none() {
            continue;
        }
        let inputs = if tried.succeeded() {
            vec![all]
        } else {
            // The values may violate a rule together, so each is tried on its own.
            all.into_iter().map(|one| Map::from_iter([one])).collect()
        };
        for input in inputs {
            let changed = subject.changed(run, input.clone().into(), cases).await;
            let Some((exchange, after)) = changed else { continue };
            for (name, value) in &input {
                let changes = stated_changes(run, &subject, &fields, name);
                cases.expect(changes.allow(value, member(&after, name)), || Finding {
                    received: after.clone(),
                    ..Finding::of(
                        &exchange,
                        subject.field(name),
                        format!("`{name}` with the new value {value} after the update"),
                        "store the values in `input`",
                    )
                });
            }
        }
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
            let Some(value) = field.other(member(&now, field.name)) else { continue };
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
