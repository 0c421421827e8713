//! Checks that updates merge objects and replace lists.

use serde_json::{Value, json};

use super::merge::{filled, member, values_of, whole, without};
use super::{Subject, only, subjects};
use crate::cases::{Cases, Finding};
use crate::items::{Field, other, same};
use crate::run::Run;
use crate::shape::Shape;

/// A merge test of an object field.
///
/// `first` is the `input` to send first, `merged` is the `input` to merge, and `expected` is the final value of the
/// field:
///
/// ```text
/// first:    { "limits": { "kept": 1, "changed": 1 } }
/// merged:   { "limits": { "changed": 2 } }
/// expected: { "kept": 1, "changed": 2 }
/// ```
///
/// `first` is `None` if the stored value already suits the test.
struct Merge<'a> {
    field: &'a str,
    first: Option<Value>,
    merged: Value,
    expected: Value,
}

/// Returns the merge test of a free-form object.
fn free(field: &str) -> Merge<'_> {
    let whole = json!({ "probe": { "kept": 1, "list": [1, 2], "deep": { "kept": "x", "changed": "y" } }, "beside": true });
    let merged = json!({ "probe": { "list": [3], "deep": { "changed": "z" } } });
    let expected = json!({ "probe": { "kept": 1, "list": [3], "deep": { "kept": "x", "changed": "z" } }, "beside": true });
    Merge { field, first: Some(only(field, whole)), merged: only(field, merged), expected }
}

/// Returns the merge test of a map with typed values. It replaces one entry.
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

/// Returns the merge test of an object with documented fields. It changes one of them.
fn typed<'a>(field: Field<'a>, now: &Value) -> Option<Merge<'a>> {
    let there = now.as_object()?;
    let inner = field.shape.fields();
    let (name, value) = inner.iter().find_map(|inner| {
        let name = inner.name()?;
        Some((name, other(*inner, there.get(name)?)?))
    })?;
    if there.values().filter(|value| !value.is_null()).count() < 2 {
        // The test needs a second field, because it detects the loss of fields that `merged` omits.
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
                let Some(now) = filled(subject, field).await else { continue };
                typed(field, member(&now, field.name))
            };
            let is_object = merge.is_some() || field.shape.fields().len() > 1;
            has_object |= is_object;
            let Some(merge) = merge else {
                if is_object {
                    cases.skip_without(format!(
                        "a {name} with an object of at least two fields in `{field}`: show such an \
                         object in the example of `{create}` in introspection, or write it under \
                         [params.{create}] of the configuration file",
                        name = subject.thing.resource.name,
                        field = field.name,
                        create = subject.thing.resource.create,
                    ));
                }
                continue;
            };
            expect_merged(subject, merge).await;
        }
    }
    without(&subjects, has_object, "is an object");
}

async fn expect_merged(subject: &Subject<'_>, merge: Merge<'_>) {
    let cases = subject.cases;
    if let Some(first) = merge.first
        && subject.changed(first).await.is_none()
    {
        return;
    }
    let Some((exchange, after)) = subject.changed(merge.merged).await else { return };
    let there = member(&after, merge.field);
    cases.expect(same(&merge.expected, there), || {
        Finding::of(&exchange, subject.field(merge.field))
            .expected(format!(
                "`{}` as {}, because members that are not named do not change",
                merge.field, merge.expected
            ))
            .received(after.clone())
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
                cases.skip_without(format!("two valid lists for `{}`", field.name));
                continue;
            };
            if subject.changed(only(field.name, long.clone())).await.is_none() {
                continue;
            }
            let changed = subject.changed(only(field.name, short.clone())).await;
            let Some((exchange, after)) = changed else { continue };
            cases.expect(same(&short, member(&after, field.name)), || {
                Finding::of(&exchange, subject.field(field.name))
                    .expected(format!("`{}` as {short}, instead of {long}", field.name))
                    .received(after.clone())
            });
        }
    }
    without(&subjects, has_list, "is a list");
}
