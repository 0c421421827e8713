//! Calls that an adapter holds until they are confirmed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::category::Category;
use crate::checks::danger_levels::DangerLevels;
use crate::items::{CreatedItem, confirmed, token_of};
use crate::resources::{GatedOperation, GatedOperations, RESERVED};
use crate::run::Run;

/// A call that needs confirmation, before it is confirmed.
pub(in crate::checks) struct PendingCall<'a> {
    pub(super) thing: CreatedItem<'a>,
    pub(in crate::checks) operation: &'a Operation,
    pub(in crate::checks) params: Map<String, Value>,
    /// The exchange whose reply requests confirmation.
    pub(in crate::checks) exchange: Exchange,
}

impl PendingCall<'_> {
    pub(super) fn token(&self, cases: &Cases) -> Option<String> {
        let token = token_of(&self.exchange).map(str::to_owned);
        if token.is_none() {
            cases.skip_without(format!(
                "a token of `{}` in `details.confirmation_token`",
                self.operation.name
            ));
        }
        token
    }

    /// Repeats the call with this token.
    pub(super) async fn with(&self, run: &Run, token: &str, cases: &Cases) -> Option<Exchange> {
        run.call(self.operation, confirmed(self.operation, self.params.clone(), token), cases).await
    }

    /// Returns `true` if the item still exists unchanged, or `None` if it could not be read.
    pub(super) async fn is_untouched(&self, run: &Run, cases: &Cases) -> Option<bool> {
        let looked = run.look(&self.thing, cases).await?;
        let object = |exchange: &Exchange| {
            exchange.data().and_then(|data| self.thing.resource.object(data)).cloned()
        };
        let (before, after) = (object(&self.thing.made), object(&looked));
        Some(after.is_some_and(|after| {
            let names = self.thing.resource.settable(run);
            names.iter().all(|name| {
                before.as_ref().and_then(|before| before.get(name)).unwrap_or(&Value::Null)
                    == after.get(name).unwrap_or(&Value::Null)
            })
        }))
    }

    pub(super) fn finding(&self, exchange: &Exchange) -> Finding {
        Finding::of(exchange, &self.operation.name)
    }
}

/// Returns the parameters of an operation for a created item.
pub(in crate::checks) fn params(
    run: &Run,
    operation: &Operation,
    thing: &CreatedItem<'_>,
) -> Option<Map<String, Value>> {
    let mut params = run.on(operation, thing.resource, &thing.id).ok()?;
    if operation.parameter("input").is_some() {
        let shown = thing.made.data().and_then(|data| thing.resource.object(data));
        let now = shown.cloned().unwrap_or_default();
        let input = thing.resource.changeable(run).into_iter().find_map(|field| {
            let value = field.other(run, now.get(field.name).unwrap_or(&Value::Null))?;
            Some(json!({ field.name: value }))
        });
        params.insert("input".to_owned(), input?);
    }
    Some(params)
}

/// Creates an item and makes a call that should need confirmation.
async fn asked_for<'r>(
    run: &'r Run,
    gated: &GatedOperation,
    cases: &Cases,
) -> Option<PendingCall<'r>> {
    let kind = run.resources().named(&gated.resource)?;
    let operation = run.adapter.operation(&gated.operation)?;
    let thing = run.make(kind, cases).await?;
    let params = params(run, operation, &thing)?;
    let exchange = run.call(operation, params.clone(), cases).await?;
    Some(PendingCall { thing, operation, params, exchange })
}

/// Returns the operations on single items that require confirmation.
pub(super) async fn gated(run: &Run) -> &[GatedOperation] {
    &all_gated(run).await.found
}

/// Returns all operations that require confirmation, and the reasons why the list may be incomplete.
///
/// The first call finds out by calling each permitted operation once. The result is cached for the run.
async fn all_gated(run: &Run) -> &GatedOperations {
    let found = run.resources().gated.get_or_init(|| async {
        let mut found = Vec::new();
        let unheard = Cases::default();
        for kind in run.resources().kinds() {
            let mut on_one: Vec<_> = run.resources().on_one(&run.adapter, kind).collect();
            // Operations that remove data come first, because they most likely need confirmation.
            on_one.sort_by_key(|operation| operation.category != Some(Category::Delete));
            for operation in on_one {
                if run.forbids(operation).is_some() {
                    continue;
                }
                let gated = GatedOperation {
                    resource: kind.name.clone(),
                    operation: operation.name.clone(),
                };
                let asked = asked_for(run, &gated, &unheard).await;
                if asked.is_some_and(|asked| asked.exchange.code() == Some("CONFIRMATION_REQUIRED"))
                {
                    found.push(gated);
                }
            }
        }
        let mut untried: Vec<_> = unheard.results().skipped.into_keys().collect();
        for operation in may_be_gated(run) {
            if !found.is_empty() || run.forbids(operation).is_some() {
                continue;
            }
            let unheard = Cases::default();
            if !run.was_let_run(&operation.name)
                && let Some(params) = run.to_run(operation, &unheard).await
            {
                run.call(operation, params, &unheard).await;
            }
            if !run.was_let_run(&operation.name) {
                untried.push(match operation.lacks_reading_name() {
                    true => Skip::NotReading(operation.name.clone()),
                    false => Skip::NoFixture(format!(
                        "whether `{name}` requires confirmation: add its parameters under \
                         [params.{name}]",
                        name = operation.name
                    )),
                });
            }
        }
        GatedOperations { found, untried }
    });
    found.await
}

/// Returns all operations except READ operations, `introspect` and reserved ones. Any of them may require confirmation.
fn may_be_gated(run: &Run) -> impl Iterator<Item = &Operation> {
    run.adapter.operations.iter().filter(|operation| {
        operation.name != "introspect"
            && !operation.is_read()
            && !RESERVED.contains(&operation.name.as_str())
    })
}

/// Makes a call that the adapter holds until it is confirmed. Skips the case if the call succeeds.
///
/// Some adapters request only one confirmation per session, and another check may have confirmed in this session.
pub(super) async fn held<'r>(
    run: &'r Run,
    gated: &GatedOperation,
    cases: &Cases,
) -> Option<PendingCall<'r>> {
    let asked = asked_for(run, gated, cases).await?;
    if asked.exchange.succeeded() {
        cases.skip_without(format!(
            "a call that needs confirmation: `{}` was confirmed in this session and no longer \
             needs it",
            asked.operation.name
        ));
        return None;
    }
    Some(asked)
}

/// Makes a call that requires confirmation. If there is no such operation, skips the case with the reason.
pub(in crate::checks) async fn ask<'r>(run: &'r Run, cases: &Cases) -> Option<PendingCall<'r>> {
    match gated(run).await.first() {
        Some(gated) => held(run, gated, cases).await,
        None => {
            none(run, cases).await;
            None
        }
    }
}

/// Records why no call required confirmation.
pub(in crate::checks) async fn none(run: &Run, cases: &Cases) {
    let untried = all_gated(run).await.untried.clone();
    if let Some(operation) = run.asks() {
        return cases.skip_without(format!(
            "an operation that requires confirmation and acts on items that the run creates, \
             unlike `{operation}`"
        ));
    }
    let stated = DangerLevels::query(run, cases).await;
    let says_so = |operation: &&Operation| stated.says_confirmed(operation);
    let is_claimed = run.adapter.capability("confirmation") == Some(true);
    let confirmed = run.adapter.operations.iter().find(says_so);
    let is_stated = is_claimed || confirmed.is_some();
    // The report lists excluded operations next to the verdict. The sample has operations of every form.
    let is_open = |why: &Skip| match why {
        Skip::LeftOut(_) => false,
        Skip::NotSampled(_) => is_stated,
        _ => true,
    };
    let forbidden = may_be_gated(run).filter_map(|operation| run.forbids(operation));
    let forbidden: BTreeSet<_> = forbidden.filter(is_open).collect();
    match confirmed {
        _ if !forbidden.is_empty() && (is_stated || !run.adapter.documents_query("danger")) => {
            forbidden.into_iter().for_each(|why| cases.skip(why));
        }
        Some(operation) => cases.skip_without(format!(
            "an operation that requires confirmation and acts on items that the run creates, \
             unlike `{}`",
            operation.name
        )),
        _ if is_claimed => cases.skip_without(
            "an operation that requires confirmation and acts on items that the run creates",
        ),
        // An adapter may document for each operation that it runs without confirmation. That is a design decision.
        _ if untried.is_empty() || run.adapter.documents_query("danger") => {
            cases.not_applicable("no operation requires confirmation");
        }
        _ => untried.into_iter().for_each(|why| cases.skip(why)),
    }
}
