//! Checks that lists contain all stored items.

use serde_json::Value;

use super::creatable;
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::pages;
use crate::resources::{Resource, Role};
use crate::run::Run;

/// Creates two items and reads the list before and after. The two items must have been added, and no other
/// item may be missing. Two items and the comparison reveal a list of every second item and a list of the
/// newest half.
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
    let Some(before) = ids(run, kind, list, cases).await else { return };
    let Some(first) = run.make(kind, cases).await else { return };
    let Some(second) = run.make_another(&first, cases).await else { return };
    let Some(after) = ids(run, kind, list, cases).await else { return };
    let created = [&first.id, &second.id];
    let missing: Vec<_> =
        before.iter().chain(created).filter(|id| !after.contains(id)).cloned().collect();
    cases.expect(missing.is_empty(), || Finding {
        sent: Value::Array(vec![first.made.sent(), second.made.sent()]),
        ..Finding::shown(
            &list.name,
            serde_json::json!({ "before": before, "after": after }),
            format!(
                "after two calls of `{}`, all items that were listed before, and the two new ones; \
                 missing: {}",
                first.made.operation(),
                Value::Array(missing.clone())
            ),
            "return every stored item, or document how to get the next page (`first` and `after`)",
        )
    });
}

/// The identifiers of all items of a list.
async fn ids(run: &Run, kind: &Resource, list: &Operation, cases: &Cases) -> Option<Vec<Value>> {
    let items = pages::all_stored(run, list, cases).await?;
    Some(items.iter().filter_map(|item| kind.identity(item)).collect())
}
