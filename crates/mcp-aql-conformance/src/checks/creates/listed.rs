//! Checks that lists contain all stored items with their fields.

use serde_json::Value;

use super::creatable;
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::fields::fields_of_type;
use crate::finding;
use crate::items::{CreatedItem, same};
use crate::pages;
use crate::resources::{Resource, Role};
use crate::run::Run;

/// Creates two items and reads the list before and after. Exactly these two items must have been added.
///
/// Two items are needed to notice a list with only every second item, or with only the newest half.
pub(super) async fn listed(run: &Run, cases: &Cases) {
    for (kind, create) in creatable(run, cases) {
        let Some(()) = run.permits(create, cases) else { continue };
        let Some(list) = kind.operation(&run.adapter, Role::List) else {
            cases.not_applicable(format!("no operation lists what `{}` creates", create.name));
            continue;
        };
        if !pages::reads_all(list) {
            cases.not_applicable(format!(
                "the parameters of `{}` select which items it returns by default",
                list.name
            ));
            continue;
        }
        listed_of(run, kind, list, cases).await;
    }
}

async fn listed_of(run: &Run, kind: &Resource, list: &Operation, cases: &Cases) {
    let ids = |items: &[Value]| -> Vec<Value> {
        items.iter().filter_map(|item| kind.identity(item)).collect()
    };
    let Some(before) = pages::all_stored(run, list, cases).await else { return };
    let before = ids(&before);
    let Some(first) = run.make(kind, cases).await else { return };
    let Some(second) = run.make_another(&first, cases).await else { return };
    let Some(items) = pages::all_stored(run, list, cases).await else { return };
    let after = ids(&items);
    let created = [&first.id, &second.id];
    let missing: Vec<_> =
        before.iter().chain(created).filter(|id| !after.contains(id)).cloned().collect();
    cases.expect(missing.is_empty(), || {
        Finding::shown(&list.name, serde_json::json!({ "before": before, "after": after }))
            .expected(format!(
                "after two calls of `{}`, all items that were listed before, and the two new ones; \
                 missing: {}",
                first.made.operation(),
                Value::Array(missing.clone())
            ))
            .sent(Value::Array(vec![first.made.sent(), second.made.sent()]))
    });
    is_listed_whole(run, &first, list, &items, cases).await;
}

/// Compares a created item in a list with the same item read alone.
///
/// The listed item must have all fields if the operation can return them. A list without selectable fields may return
/// fewer.
async fn is_listed_whole(
    run: &Run,
    thing: &CreatedItem<'_>,
    list: &Operation,
    items: &[Value],
    cases: &Cases,
) {
    let kind = thing.resource;
    let is_it = |item: &&Value| kind.identity(item).is_some_and(|id| same(&thing.id, &id));
    let Some(listed) = items.iter().find(is_it) else { return };
    let Some(read) = kind.operation(&run.adapter, Role::Read) else { return };
    let Some(stored) = run.stored(thing, cases).await else { return };
    let documented: Vec<_> =
        fields_of_type(run, list).into_iter().filter_map(|field| field.name()).collect();
    let settable = kind.settable(run);
    let is_settable = |name: &String| settable.contains(name);
    let can_return_all = list.parameter("fields").is_some();
    let must_have = |name: &String| match documented.is_empty() {
        true => can_return_all && is_settable(name),
        false => can_return_all && documented.contains(&name.as_str()),
    };
    // Other fields may change with time.
    let differs = |name: &String, value: &Value| match listed.get(name) {
        Some(listed) => is_settable(name) && !same(value, listed),
        None => must_have(name) && !value.is_null(),
    };
    let members = stored.as_object().into_iter().flatten();
    let fields = members.filter(|(name, _)| !name.starts_with('_'));
    let wrong: Vec<_> =
        fields.filter(|(name, value)| differs(name, value)).map(|(name, _)| name).collect();
    cases.expect(wrong.is_empty(), || {
        Finding::shown(format!("{}: {}", list.name, finding::listed(&wrong)), listed.clone())
            .expected(format!("the fields of the item as `{}` returns it: {stored}", read.name))
            .fix(
                "return an item with the same fields in lists as on its own: with all fields for \
                 `fields: \"full\"`",
            )
    });
}
