//! Checks of how updates merge into stored items.

use serde_json::{Map, Value, json};

use super::super::creates::agrees;
use super::{Subject, only, subjects};
use crate::cases::{Cases, Finding, Skip};
use crate::items::{Field, other, same};
use crate::run::Run;
use crate::shape::Shape;

fn member<'v>(object: &'v Value, name: &str) -> &'v Value {
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
        let news = fields
            .into_iter()
            .filter_map(|field| Some((field.name, field.other(member(&now, field.name))?)));
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
                cases.expect(same(value, member(&after, name)), || Finding {
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

/// A merge test of an object field: the value to store first, the value to merge, and the expected result.
struct Merge<'a> {
    field: &'a str,
    first: Option<Value>,
    merged: Value,
    expected: Value,
}

/// The merge test of a free-form object.
fn free(field: &str) -> Merge<'_> {
    let whole = json!({ "probe": { "kept": 1, "list": [1, 2], "deep": { "kept": "x", "changed": "y" } }, "beside": true });
    let merged = json!({ "probe": { "list": [3], "deep": { "changed": "z" } } });
    let expected = json!({ "probe": { "kept": 1, "list": [3], "deep": { "kept": "x", "changed": "z" } }, "beside": true });
    Merge { field, first: Some(only(field, whole)), merged: only(field, merged), expected }
}

/// The merge test of a map with typed values: it replaces one entry.
fn map<'a>(field: Field<'a>, values: Shape<'_>) -> Option<Merge<'a>> {
    let value = |turn| whole(values).filter(|_| turn == 1).or_else(|| values.made(turn));
    let (first, other) = (value(1)?, values.made(2)?);
    let both = json!({ "probe": first, "beside": first });
    let expected = json!({ "probe": other, "beside": first });
    Some(Merge {
        field: field.name,
        first: Some(only(field.name, both)),
        merged: only(field.name, only("probe", other)),
        expected,
    })
}

/// The merge test of an object with documented fields: it changes one of them.
fn typed<'a>(field: Field<'a>, now: &Value) -> Option<Merge<'a>> {
    let there = now.as_object()?;
    let inner = field.shape.fields();
    let (name, value) = inner.iter().find_map(|inner| {
        let name = inner.name()?;
        Some((name, other(*inner, there.get(name)?)?))
    })?;
    if there.values().filter(|value| !value.is_null()).count() < 2 {
        // A second field must be present to detect its loss.
        let (beside, more) = inner.iter().find_map(|inner| {
            let beside = inner.name().filter(|beside| *beside != name)?;
            Some((beside, whole(*inner)?))
        })?;
        let mut expected = there.clone();
        expected.insert(beside.to_owned(), more.clone());
        expected.insert(name.to_owned(), value.clone());
        return Some(Merge {
            field: field.name,
            first: Some(only(field.name, only(beside, more))),
            merged: only(field.name, only(name, value)),
            expected: expected.into(),
        });
    }
    let mut expected = there.clone();
    expected.insert(name.to_owned(), value.clone());
    Some(Merge {
        field: field.name,
        first: None,
        merged: only(field.name, only(name, value)),
        expected: expected.into(),
    })
}

/// A complete value for a field of an object.
fn whole(shape: Shape<'_>) -> Option<Value> {
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
fn without(run: &Run, subjects: &[Subject<'_>], has_any: bool, what: &str, cases: &Cases) {
    let undocumented =
        subjects.iter().find(|subject| subject.thing.resource.changeable(run).is_empty());
    match undocumented {
        Some(subject) => cases.skip(Skip::NoFixture(format!(
            "fields that `{}` changes: document them in a type that `input` names",
            subject.update.name
        ))),
        None if !subjects.is_empty() && !has_any => {
            cases.not_applicable(format!("no field that an UPDATE operation changes {what}"));
        }
        None => {}
    }
}

pub(super) async fn deep_merge(run: &Run, cases: &Cases) {
    let mut has_object = false;
    let subjects = subjects(run, cases).await;
    for subject in &subjects {
        let fields = subject.thing.resource.changeable(run);
        for field in fields {
            let merge = if let Some(values) = values_of(field) {
                has_object = true;
                map(field, values)
            } else if field.shape.word() == "object" {
                Some(free(field.name))
            } else if field.shape.fields().len() < 2 {
                None
            } else {
                let Some(now) = filled(run, subject, field, cases).await else { continue };
                typed(field, member(&now, field.name))
            };
            let is_object = merge.is_some() || field.shape.fields().len() > 1;
            has_object |= is_object;
            let Some(merge) = merge else {
                if is_object {
                    cases.skip(Skip::NoFixture(format!(
                        "a {} with an object of at least two fields in `{}`",
                        subject.thing.resource.name, field.name
                    )));
                }
                continue;
            };
            expect_merged(run, subject, merge, cases).await;
        }
    }
    without(run, &subjects, has_object, "is an object", cases);
}

/// Reads an item, after storing an object in a field of it.
async fn filled(
    run: &Run,
    subject: &Subject<'_>,
    field: Field<'_>,
    cases: &Cases,
) -> Option<Value> {
    let now = run.stored(&subject.thing, cases).await?;
    if !member(&now, field.name).is_null() {
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

async fn expect_merged(run: &Run, subject: &Subject<'_>, merge: Merge<'_>, cases: &Cases) {
    if let Some(first) = merge.first
        && subject.changed(run, first, cases).await.is_none()
    {
        return;
    }
    let Some((exchange, after)) = subject.changed(run, merge.merged, cases).await else { return };
    let there = member(&after, merge.field);
    cases.expect(same(&merge.expected, there), || Finding {
        received: after.clone(),
        ..Finding::of(
            &exchange,
            subject.field(merge.field),
            format!(
                "`{}` as {}, because members that are not named do not change",
                merge.field, merge.expected
            ),
            "merge objects key by key, at every depth; replace other values",
        )
    });
}

pub(super) async fn arrays_whole(run: &Run, cases: &Cases) {
    let mut has_list = false;
    let subjects = subjects(run, cases).await;
    for subject in &subjects {
        for field in subject.thing.resource.changeable(run) {
            if field.shape.word() != "array" {
                continue;
            }
            has_list = true;
            let item =
                |turn| field.shape.items().map_or(Some(json!(turn)), |items| items.made(turn));
            let lists =
                item(1).zip(item(2)).zip(item(3)).map(|((a, b), c)| (json!([a, b]), json!([c])));
            let fits = |list: &Value| field.shape.accepts(list);
            let Some((long, short)) = lists.filter(|(long, short)| fits(long) && fits(short))
            else {
                cases.skip(Skip::NoFixture(format!("two valid lists for `{}`", field.name)));
                continue;
            };
            if subject.changed(run, only(field.name, long.clone()), cases).await.is_none() {
                continue;
            }
            let changed = subject.changed(run, only(field.name, short.clone()), cases).await;
            let Some((exchange, after)) = changed else { continue };
            cases.expect(same(&short, member(&after, field.name)), || Finding {
                received: after.clone(),
                ..Finding::of(
                    &exchange,
                    subject.field(field.name),
                    format!("`{}` as {short}, instead of {long}", field.name),
                    "replace the old list; do not append or merge its items",
                )
            });
        }
    }
    without(run, &subjects, has_list, "is a list", cases);
}

pub(super) async fn null_removes(run: &Run, cases: &Cases) {
    let subjects = subjects(run, cases).await;
    let mut has_any = false;
    for subject in &subjects {
        let kind = subject.thing.resource;
        for field in kind.changeable(run) {
            if field.shape.word() == "object" {
                has_any = true;
                match values_of(field) {
                    Some(values) => removes_entry(run, subject, field.name, values, cases).await,
                    None => removes_key(run, subject, field.name, cases).await,
                }
                continue;
            }
            let mut optional = field.shape.fields();
            optional.retain(|inner| kind.may_lack_inside(run, field.name, *inner));
            if !optional.is_empty() && filled(run, subject, field, cases).await.is_none() {
                has_any = true;
                continue;
            }
            for inner in optional {
                has_any |= removes_inside(run, subject, field.name, inner, cases).await;
            }
            if !kind.may_lack(run, field.name) {
                continue;
            }
            let Some(now) = run.stored(&subject.thing, cases).await else { break };
            if member(&now, field.name).is_null() {
                let Some(value) = whole(field.shape) else { continue };
                if subject.changed(run, only(field.name, value), cases).await.is_none() {
                    continue;
                }
            }
            has_any = true;
            let input = only(field.name, Value::Null);
            let Some(exchange) = subject.call(run, [("input", input)], cases).await else {
                continue;
            };
            let Some(after) = run.stored(&subject.thing, cases).await else { continue };
            let is_gone = member(&after, field.name).is_null();
            if !is_gone && !kind.is_typed(run, field.name) {
                // The field may be optional on creation only.
                cases.skip(Skip::NoFixture(format!(
                    "a field that may be absent: no type documents that for `{}`, and its null is rejected",
                    field.name
                )));
                continue;
            }
            cases.expect(exchange.succeeded() && is_gone, || Finding {
                received: json!([exchange.received(), after]),
                ..Finding::of(
                    &exchange,
                    subject.field(field.name),
                    format!(
                        "an item without `{}`, because null removes optional fields",
                        field.name
                    ),
                    "distinguish null from omitted fields, and remove the field",
                )
            });
        }
    }
    without(run, &subjects, has_any, "can be absent", cases);
}

/// Checks that null removes an optional field of an object. Returns false if there is no such field.
async fn removes_inside(
    run: &Run,
    subject: &Subject<'_>,
    outer: &str,
    inner: Shape<'_>,
    cases: &Cases,
) -> bool {
    let Some((name, value)) = inner.name().zip(whole(inner)) else { return false };
    let Some(now) = run.stored(&subject.thing, cases).await else { return false };
    // A missing object may not accept a single field.
    if !member(&now, outer).is_object() {
        return false;
    }
    if subject.changed(run, only(outer, only(name, value)), cases).await.is_none() {
        return true;
    }
    let input = only(outer, only(name, Value::Null));
    let Some((exchange, after)) = subject.changed(run, input, cases).await else { return true };
    let there = member(&after, outer);
    cases.expect(there.is_object() && member(there, name).is_null(), || Finding {
        received: after.clone(),
        ..Finding::of(
            &exchange,
            subject.field(&format!("{outer}.{name}")),
            format!("`{outer}` without `{name}` and with its other fields"),
            "remove fields that are null inside objects too, and keep the others",
        )
    });
    true
}

/// The documented form of the values of a map.
fn values_of(field: Field<'_>) -> Option<Shape<'_>> {
    field.shape.items().filter(|_| field.shape.word() == "object")
}

/// Checks that null removes an entry of a map.
async fn removes_entry(
    run: &Run,
    subject: &Subject<'_>,
    name: &str,
    values: Shape<'_>,
    cases: &Cases,
) {
    let Some(value) = whole(values).or_else(|| values.made(1)) else {
        return cases.skip(Skip::NoFixture(format!("a value for an entry of `{name}`")));
    };
    let first = only(name, json!({ "gone": value, "stays": value }));
    if subject.changed(run, first, cases).await.is_none() {
        return;
    }
    let input = only(name, json!({ "gone": null }));
    let Some((exchange, after)) = subject.changed(run, input, cases).await else { return };
    let there = member(&after, name);
    cases.expect(there.get("gone").is_none() && there.get("stays").is_some(), || Finding {
        received: after.clone(),
        ..Finding::of(
            &exchange,
            subject.field(name),
            format!("`{name}` without `gone` and with `stays`"),
            "remove entries that are null, and keep the others",
        )
    });
}

/// Checks that null removes a key of a free-form object.
async fn removes_key(run: &Run, subject: &Subject<'_>, name: &str, cases: &Cases) {
    let first = only(name, json!({ "gone": { "inner": 1, "stays": 2 }, "stays": 1 }));
    if subject.changed(run, first, cases).await.is_none() {
        return;
    }
    for (input, path) in
        [(json!({ "gone": { "inner": null } }), "/gone/inner"), (json!({ "gone": null }), "/gone")]
    {
        let Some((exchange, after)) = subject.changed(run, only(name, input), cases).await else {
            return;
        };
        let there = member(&after, name);
        let stays = if path == "/gone" { "/stays" } else { "/gone/stays" };
        let holds = there.pointer(path).is_none() && there.pointer(stays).is_some();
        cases.expect(holds, || Finding {
            received: after.clone(),
            ..Finding::of(
                &exchange,
                subject.field(name),
                format!("`{1}` without `{0}` and with its other members", path.trim_start_matches('/'), name),
                "remove members that are null inside objects too, at every depth, instead of storing null",
            )
        });
    }
}
