//! Checks that DELETE operations remove the named item and nothing else.

use serde_json::{Map, Value, json};

use super::{Check, checks};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::items::{CreatedItem, same};
use crate::pages;
use crate::resources::{Resource, Role};
use crate::run::{Run, do_all};

pub(super) const CHECKS: &[Check] = checks![
    Must 1 "deletes.removed" => Alone(gone), ["REQ-CLS-02", "REQ-CNF-04"],
        "A deleted item cannot be read",
        fix: "remove the item from the store when the operation succeeds";
    Should 2 "deletes.not_found" => Alone(not_found), ["REQ-MCP-11", "REQ-ERR-02"],
        "Reading or changing a deleted item fails with NOT_FOUND_RESOURCE",
        expected: "a failure NOT_FOUND_RESOURCE, because the item was deleted before",
        fix: "report that the item does not exist: clients cannot tell otherwise whether the call had an effect";
    Should 2 "deletes.twice" => Alone(twice), ["REQ-MCP-11", "REQ-ERR-02"],
        "Deleting an item twice fails with NOT_FOUND_RESOURCE",
        expected: "a failure NOT_FOUND_RESOURCE, because the item was deleted before",
        fix: "report that the item does not exist: clients cannot tell otherwise whether the call had an effect";
    Must 1 "deletes.only_named" => Alone(only_named), ["REQ-CLS-02", "REQ-CNF-04"],
        "Deleting one item does not change the others",
        fix: "remove the named item only";
    Must 1 "deletes.reads_change_nothing" => Reads(reads_change_nothing), ["REQ-CLS-03"],
        "READ operations do not change stored data",
        expected: "the same things with the same versions before and after all READ operations were called",
        fix: "do not change stored data in a READ operation; operations that change it are CREATE, UPDATE, DELETE or \
         EXECUTE";
];

/// Runs a case for each resource with a DELETE operation.
///
/// No other check may run at the same time: an adapter may reuse the identifier of a deleted item for the next item,
/// and that one could belong to another check.
async fn each_deletable<'r, F: Future<Output = Option<()>>>(
    run: &'r Run,
    cases: &Cases,
    case: impl Fn(&'r Resource) -> F,
) {
    let jobs: Vec<_> = run.kinds(Role::Delete, cases).into_iter().map(case).collect();
    let jobs = jobs.into_iter().map(|job| async {
        // `None` means that the case was skipped with its reason.
        let _ = job.await;
    });
    do_all(jobs).await;
}

/// Creates an item of this resource and deletes it.
async fn removed<'r>(
    run: &'r Run,
    kind: &'r Resource,
    cases: &Cases,
) -> Option<(CreatedItem<'r>, Exchange)> {
    let delete = kind.operation(&run.adapter, Role::Delete)?;
    run.permits(delete, cases)?;
    let thing = run.make(kind, cases).await?;
    remove(run, thing, cases).await
}

/// Deletes an item. Returns it with the exchange.
async fn remove<'r>(
    run: &'r Run,
    thing: CreatedItem<'r>,
    cases: &Cases,
) -> Option<(CreatedItem<'r>, Exchange)> {
    let removed = run.remove(&thing, cases).await?;
    if !removed.succeeded() {
        cases.skip_without(format!(
            "`{}` deleted nothing and returned {}",
            removed.operation(),
            removed.summary()
        ));
        return None;
    }
    Some((thing, removed))
}

async fn gone(run: &Run, cases: &Cases) {
    each_deletable(run, cases, |kind| gone_of(run, kind, cases)).await;
}

async fn gone_of(run: &Run, kind: &Resource, cases: &Cases) -> Option<()> {
    let (thing, removed) = removed(run, kind, cases).await?;
    let looked = run.look(&thing, cases).await?;
    let there = looked.data().and_then(|data| kind.object(data));
    let is_gone = there.is_none_or(|there| kind.identity(there).as_ref() != Some(&thing.id));
    cases.expect(is_gone, || {
        Finding::of(&looked, removed.operation())
            .expected(format!("a failure, because the {} was deleted", kind.name))
            .sent(Value::Array(vec![removed.sent(), looked.sent()]))
    });
    let list = kind.operation(&run.adapter, Role::List)?;
    let items = pages::all(run, list, Map::new(), cases).await?;
    let listed = items.iter().find(|item| kind.identity(item).as_ref() == Some(&thing.id));
    cases.expect(listed.is_none(), || {
        Finding::shown(removed.operation(), listed.cloned().unwrap_or_default())
            .expected(format!("a list `{}` without this item, because it was deleted", list.name))
            .fix("remove deleted items from lists")
            .sent(removed.sent())
    });
    Some(())
}

async fn not_found(run: &Run, cases: &Cases) {
    each_deletable(run, cases, |kind| not_found_of(run, kind, cases)).await;
}

async fn not_found_of(run: &Run, kind: &Resource, cases: &Cases) -> Option<()> {
    let (thing, _) = removed(run, kind, cases).await?;
    if kind.operation(&run.adapter, Role::Read).is_some()
        && let Some(looked) = run.look(&thing, cases).await
    {
        expect_not_found(&looked, cases);
    }
    let update = kind.operation(&run.adapter, Role::Update)?;
    if run.forbids(update).is_some() || update.parameter("input").is_none() {
        return None;
    }
    let current = thing.made.data().and_then(|data| kind.object(data)).unwrap_or(&Value::Null);
    let input = kind.changeable(run).into_iter().find_map(|field| {
        let value = field.other(run, current.get(field.name).unwrap_or(&Value::Null))?;
        Some(json!({ field.name: value }))
    });
    let updated = run.update(&thing, input?, cases).await?;
    expect_not_found(&updated, cases);
    Some(())
}

async fn twice(run: &Run, cases: &Cases) {
    each_deletable(run, cases, |kind| async {
        let (thing, _) = removed(run, kind, cases).await?;
        let again = run.remove(&thing, cases).await?;
        expect_not_found(&again, cases);
        Some(())
    })
    .await;
}

fn expect_not_found(exchange: &Exchange, cases: &Cases) {
    let is_reported = exchange.code() == Some("NOT_FOUND_RESOURCE");
    cases.expect(is_reported, || Finding::of(exchange, exchange.operation()));
}

async fn only_named(run: &Run, cases: &Cases) {
    each_deletable(run, cases, |kind| only_named_of(run, kind, cases)).await;
}

async fn only_named_of(run: &Run, kind: &Resource, cases: &Cases) -> Option<()> {
    run.permits(kind.operation(&run.adapter, Role::Delete)?, cases)?;
    let other = run.make(kind, cases).await?;
    let before = run.stored(&other, cases).await?;
    let thing = run.make_another(&other, cases).await?;
    let (_, removed) = remove(run, thing, cases).await?;
    let looked = run.look(&other, cases).await?;
    let after = looked.data().and_then(|data| kind.object(data));
    let is_there = after.is_some_and(|after| {
        kind.identity(after).as_ref() == Some(&other.id)
            && kind.settable(run).iter().all(|name| before.get(name) == after.get(name))
    });
    cases.expect_success(&looked, is_there, || {
        Finding::shown(removed.operation(), looked.received())
            .expected(format!(
                "the {} of the {} `{}`, unchanged, because another one was deleted",
                kind.name, kind.id, other.id
            ))
            .sent(removed.sent())
    });
    Some(())
}

/// A list of stored items: their resource if known, the operation, and the items.
type List<'r> = (Option<&'r Resource>, &'r Operation, pages::Items<'r>);

/// Reads all lists of stored items.
async fn lists<'r>(run: &'r Run, cases: &Cases) -> Vec<List<'r>> {
    let kinds = run.resources().kinds().iter();
    let of_kinds =
        kinds.filter_map(|kind| Some((Some(kind), kind.operation(&run.adapter, Role::List)?)));
    let mut lists: Vec<_> = of_kinds.collect();
    if lists.is_empty() {
        let plain = run.adapter.reads().filter(|operation| operation.required().next().is_none());
        lists.extend(plain.map(|list| (None, list)));
    }
    let has_any = !lists.is_empty();
    let mut found = Vec::new();
    for (kind, list) in lists {
        // Leave out operations that do not return a collection.
        let Some(exchange) = run.call(list, Map::new(), cases).await else { continue };
        if exchange.data().and_then(pages::items).is_none() {
            continue;
        }
        let Some(items) = pages::all(run, list, Map::new(), cases).await else { continue };
        found.push((kind, list, items));
    }
    if !has_any {
        cases.not_applicable("no READ operation lists stored data");
    } else if found.is_empty() {
        cases.skip_without("a READ operation that lists stored data");
    }
    found
}

/// Returns `true` if two items are the same and have the same version.
fn is_unchanged(kind: &Resource, names: &[String], before: &Value, after: &Value) -> bool {
    kind.identity(before) == kind.identity(after)
        && names.iter().map(String::as_str).chain(VERSIONS).all(|name| {
            let there = |item: &Value| item.get(name).cloned().unwrap_or_default();
            same(&there(before), &there(after))
        })
}

async fn reads_change_nothing(run: &Run, cases: &Cases) {
    let lists = lists(run, cases).await;
    if lists.is_empty() {
        return;
    }
    let mut asked = Vec::new();
    for operation in run.adapter.reads() {
        // The second round reveals counters that the first round changed.
        for _ in 0..2 {
            let Ok(params) = run.valid(operation) else { continue };
            let Some(exchange) = run.call(operation, params, cases).await else { continue };
            asked.push(exchange.sent());
        }
    }
    for (kind, list, before) in lists {
        let Some(after) = pages::all(run, list, Map::new(), cases).await else { continue };
        let known = kind.map(|kind| (kind, kind.settable(run)));
        let is_same = before.len() == after.len()
            && before.iter().zip(after.iter()).all(|(before, after)| {
                known.as_ref().is_none_or(|(kind, names)| is_unchanged(kind, names, before, after))
            });
        cases.expect(is_same, || {
            let items: Vec<_> = after.iter().take(3).collect();
            let shown = json!({ "before": before.len(), "after": after.len(), "items": items });
            Finding::shown(&list.name, shown).sent(asked.iter().take(5).cloned().collect())
        });
    }
}

/// Fields that change with every change of an item.
const VERSIONS: [&str; 2] = ["_version", "_etag"];
