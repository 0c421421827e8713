//! Checks that null in `input` removes fields, entries of maps and members of objects.

use serde_json::{Value, json};

use super::merge::{filled, member, values_of, whole, without};
use super::{Subject, only, subjects};
use crate::cases::{Cases, Finding};
use crate::items::Field;
use crate::run::Run;
use crate::shape::Shape;

pub(super) async fn null_removes(run: &Run, cases: &Cases) {
    let subjects = subjects(run, cases).await;
    let mut has_any = false;
    for subject in &subjects {
        let kind = subject.thing.resource;
        for field in kind.changeable(run) {
            if field.shape.word() == "object" {
                has_any = true;
                match values_of(field) {
                    Some(values) => removes_entry(subject, field.name, values).await,
                    None => removes_key(subject, field.name).await,
                }
                continue;
            }
            let mut optional = field.shape.fields();
            optional.retain(|inner| kind.may_lack_inside(run, field.name, *inner));
            if !optional.is_empty() && filled(subject, field).await.is_none() {
                has_any = true;
                continue;
            }
            for inner in optional {
                has_any |= removes_inside(subject, field.name, inner).await;
            }
            if !kind.may_lack(run, field.name) {
                continue;
            }
            let Some(now) = subject.stored().await else { break };
            has_any |= removes_field(subject, field, &now).await;
        }
    }
    without(&subjects, has_any, "can be absent");
}

/// Checks that null removes an optional field. Returns `false` if the field cannot be filled first.
///
/// ```json
/// { "operation": "update_bed", "params": { "bed_id": "bed-7", "input": { "note": null } } }
/// ```
async fn removes_field(subject: &Subject<'_>, field: Field<'_>, now: &Value) -> bool {
    let &Subject { run, cases, .. } = subject;
    let mut before = now.clone();
    if member(now, field.name).is_null() {
        let Some(value) = whole(field.shape) else { return false };
        let changed = subject.changed(only(field.name, value)).await;
        let Some((_, filled)) = changed else { return false };
        before = filled;
    }
    let input = only(field.name, Value::Null);
    let Some(exchange) = subject.send(input).await else { return true };
    let Some(after) = subject.stored().await else { return true };
    let is_gone = member(&after, field.name).is_null();
    if !is_gone && !subject.thing.resource.is_typed(run, field.name) {
        // Without a documented type, the field may be optional in the CREATE operation only.
        cases.skip_without(format!(
            "a field that may be absent: no type documents that for `{}`, and its null is rejected",
            field.name
        ));
        return true;
    }
    let settable = subject.thing.resource.settable(run);
    let lost: Vec<_> = settable
        .iter()
        .filter(|name| *name != field.name && member(&before, name) != member(&after, name))
        .collect();
    cases.expect_success(&exchange, is_gone && lost.is_empty(), || {
        Finding::of(&exchange, subject.field(field.name)).expected(format!(
            "an item without `{}` and with all its other fields, because null removes one optional \
             field; the item before was {before}",
            field.name
        )).received(json!([exchange.received(), after]))
    });
    true
}

/// Checks that null removes an optional field of an object. Returns `false` if the field cannot be filled first.
async fn removes_inside(subject: &Subject<'_>, outer: &str, inner: Shape<'_>) -> bool {
    let cases = subject.cases;
    let Some((name, value)) = inner.name().zip(whole(inner)) else { return false };
    let Some(now) = subject.stored().await else { return false };
    // If the object is missing, the adapter may reject a single field of it.
    if !member(&now, outer).is_object() {
        return false;
    }
    if subject.changed(only(outer, only(name, value))).await.is_none() {
        return true;
    }
    let input = only(outer, only(name, Value::Null));
    let Some((exchange, after)) = subject.changed(input).await else { return true };
    let there = member(&after, outer);
    cases.expect(there.is_object() && member(there, name).is_null(), || {
        Finding::of(&exchange, subject.field(&format!("{outer}.{name}")))
            .expected(format!("`{outer}` without `{name}` and with its other fields"))
            .fix("remove fields that are null inside objects too, and keep the others")
            .received(after.clone())
    });
    true
}

/// Checks that null removes an entry of a map and keeps the others.
async fn removes_entry(subject: &Subject<'_>, name: &str, values: Shape<'_>) {
    let cases = subject.cases;
    let Some(value) = whole(values).or_else(|| values.made(1)) else {
        return cases.skip_without(format!("a value for an entry of `{name}`"));
    };
    let first = only(name, json!({ "gone": value, "stays": value }));
    if subject.changed(first).await.is_none() {
        return;
    }
    let input = only(name, json!({ "gone": null }));
    let Some((exchange, after)) = subject.changed(input).await else { return };
    let there = member(&after, name);
    cases.expect(there.get("gone").is_none() && there.get("stays").is_some(), || {
        Finding::of(&exchange, subject.field(name))
            .expected(format!("`{name}` without `gone` and with `stays`"))
            .fix("remove entries that are null, and keep the others")
            .received(after.clone())
    });
}

/// Checks that null removes a key of a free-form object, also inside a nested object.
async fn removes_key(subject: &Subject<'_>, name: &str) {
    let cases = subject.cases;
    let first = only(name, json!({ "gone": { "inner": 1, "stays": 2 }, "stays": 1 }));
    if subject.changed(first).await.is_none() {
        return;
    }
    for (input, path) in
        [(json!({ "gone": { "inner": null } }), "/gone/inner"), (json!({ "gone": null }), "/gone")]
    {
        let Some((exchange, after)) = subject.changed(only(name, input)).await else {
            return;
        };
        let there = member(&after, name);
        let stays = if path == "/gone" { "/stays" } else { "/gone/stays" };
        let holds = there.pointer(path).is_none() && there.pointer(stays).is_some();
        cases.expect(holds, || {
            Finding::of(&exchange, subject.field(name))
                .expected(format!(
                    "`{1}` without `{0}` and with its other members",
                    path.trim_start_matches('/'),
                    name
                ))
                .fix(
                    "remove members that are null inside objects too, at every depth, instead of \
                     storing null",
                )
                .received(after.clone())
        });
    }
}
