//! Checks of how many items a call creates.

use serde_json::{Map, Value, json};

use super::creatable;
use crate::cases::{Cases, Finding};
use crate::checks::calls::valid;
use crate::checks::encoding::is_free;
use crate::items::{self, same};
use crate::nouns::is_identifier;
use crate::pages;
use crate::resources::{self, Role};
use crate::run::Run;
use crate::shape::Shape;
use crate::values;

pub(super) async fn created_once(run: &Run, cases: &Cases) {
    for (kind, create) in creatable(run, cases) {
        let Some(list) = kind.operation(&run.adapter, Role::List) else {
            cases.not_applicable(format!("no operation lists what `{}` creates", create.name));
            continue;
        };
        let text = create.parameters.iter().find(|parameter| {
            is_free(run, parameter)
                && !resources::is_control(&parameter.name)
                && !is_identifier(&parameter.name)
                && Shape::of(&run.adapter, parameter).accepts(&json!("once and once again"))
        });
        let Some(text) = text else {
            cases.not_applicable(format!("`{}` has no free-form string parameter", create.name));
            continue;
        };
        // Earlier runs may have left items in the store, so the value must be unique.
        let unique = json!(format!("once {}", chrono::Utc::now().timestamp_micros()));
        let Some(mut params) = valid(run, create, cases) else { continue };
        params.insert(text.name.clone(), unique.clone());
        let Some(thing) = run.make_with(kind, params, cases).await else { continue };
        if thing.sent.get(&text.name) != Some(&unique) {
            cases.skip_without(format!("a string that occurs in only one {}", kind.name));
            continue;
        }
        let Some(items) = pages::all(run, list, Map::new(), cases).await else { continue };
        let like_it = items.iter().filter(|item| item.get(&text.name) == Some(&unique));
        // A list may show one item in several entries.
        let others: Vec<_> = like_it
            .filter_map(|item| kind.identity(item))
            .filter(|id| !same(&thing.id, id))
            .filter(|id| !thing.made.data().is_some_and(|data| values::mentions(data, id)))
            .collect();
        cases.expect(others.is_empty(), || {
            Finding::of(&thing.made, &create.name).expected(format!(
                "one {} whose `{}` is {unique}; the list also has {}",
                kind.name,
                text.name,
                Value::Array(others.clone())
            ))
        });
    }
}

pub(super) async fn rejected_whole(run: &Run, cases: &Cases) {
    for (kind, create) in creatable(run, cases) {
        let Some(()) = run.permits(create, cases) else { continue };
        let Some(list) = kind.operation(&run.adapter, Role::List) else {
            cases.not_applicable(format!("no operation lists what `{}` creates", create.name));
            continue;
        };
        let found = items::to_create(run, create);
        let Some(params) = cases.ok_or_skip(found) else { continue };
        for params in wrong(run, create, &params) {
            let Some(before) = pages::all(run, list, Map::new(), cases).await else { break };
            let Some(refused) = run.refused_call(create, params, cases).await else { continue };
            if refused.failure().is_none() {
                // Other checks report the missing rejection.
                continue;
            }
            let Some(after) = pages::all(run, list, Map::new(), cases).await else { break };
            cases.expect(before.len() == after.len(), || {
                Finding::of(&refused, &create.name).expected(format!(
                    "{1} items in `{0}` before and after, not {2}",
                    list.name,
                    before.len(),
                    after.len()
                ))
            });
        }
    }
}

/// Returns valid parameters with one invalid value: first in the first possible parameter, then in the last.
fn wrong(
    run: &Run,
    create: &crate::adapter::Operation,
    params: &Map<String, Value>,
) -> impl Iterator<Item = Map<String, Value>> {
    let wrong: Vec<_> = create
        .parameters
        .iter()
        .filter_map(|parameter| {
            let wrong = Shape::of(&run.adapter, parameter).wrong().pop()?;
            let mut params = params.clone();
            params.insert(parameter.name.clone(), wrong.value);
            Some(params)
        })
        .collect();
    let last = wrong.last().cloned();
    wrong.into_iter().take(1).chain(last)
}
