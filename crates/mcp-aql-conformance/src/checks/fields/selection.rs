//! Checks of presets, and of the fields that a request selects.

use std::collections::BTreeSet;

use serde_json::json;

use super::{about, choose, full, is_path, names, things};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::having;
use crate::checks::planned::{PlannedCall, invalid_calls};
use crate::finding::listed;
use crate::pages;
use crate::run::{Run, do_all};

const PRESETS: [&str; 3] = ["minimal", "standard", "full"];

pub(super) async fn presets(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        if full(run, operation, cases).await.is_none() {
            return;
        }
        let mut before: BTreeSet<String> = BTreeSet::new();
        for preset in PRESETS {
            let chosen = choose(run, operation, Some(json!(preset)), cases).await;
            let Some(exchange) = chosen else { return };
            let names = exchange.data().map(names).unwrap_or_default();
            let has_all = before.iter().all(|name| names.contains(name.as_str()));
            cases.expect(!names.is_empty() && has_all, || {
                Finding::of(&exchange, about(operation)).expected(format!(
                    "the fields of `{preset}`, and among them {}",
                    listed(&before)
                ))
            });
            before = names.into_iter().map(str::to_owned).collect();
        }
    });
    do_all(jobs).await;
}

pub(super) async fn subset(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        let Some(all) = full(run, operation, cases).await else { return };
        let all = all.data().map(names).unwrap_or_default();
        let chosen: Vec<_> = all.iter().copied().filter(|name| is_path(name)).take(2).collect();
        for wanted in [chosen.get(..1), chosen.get(..2)].into_iter().flatten() {
            let answer = choose(run, operation, Some(json!(wanted)), cases).await;
            let Some(exchange) = answer else { return };
            let things = exchange.data().map(things).unwrap_or_default();
            let is_subset = !things.is_empty()
                && things.iter().all(|thing| {
                    thing.keys().all(|name| {
                        // The protocol adds members such as `_version`. They are not fields of the item.
                        name.starts_with('_') || wanted.contains(&name.as_str())
                    })
                })
                && things.iter().any(|thing| !thing.is_empty());
            cases.expect(is_subset, || {
                Finding::of(&exchange, about(operation))
                    .expected(format!("{} and no other fields", listed(wanted)))
            });
        }
    });
    do_all(jobs).await;
}

/// Plans calls that select a field that no type has.
pub(super) fn unknown<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let fields = [json!(["conformance_probe"]), json!("conformance_probe")];
    let fields = fields.map(|fields| json!({ "fields": fields }));
    invalid_calls(run, having(run, "fields", cases), "fields", &fields, cases)
}

pub(super) async fn page_untouched(run: &Run, cases: &Cases) {
    let operations = having(run, "fields", cases).into_iter();
    let operations = cases.some_or_not_applicable(
        operations.filter(|operation| pages::is_paged(operation)),
        "no operation documents both `fields` and `first`",
    );
    let jobs = operations.into_iter().map(|operation| async move {
        let Some(all) = full(run, operation, cases).await else { return };
        let Some(name) =
            all.data().and_then(|data| names(data).into_iter().find(|name| is_path(name)))
        else {
            return;
        };
        let chosen = choose(run, operation, Some(json!([name])), cases).await;
        let Some(exchange) = chosen else { return };
        // Compare only booleans and counts in `pageInfo`, because cursors may differ between calls.
        let info = |exchange: &Exchange| {
            let mut info = exchange.data().and_then(pages::info).cloned()?;
            info.retain(|_, value| value.is_boolean() || value.is_number());
            Some(info)
        };
        let has_cursor = |exchange: &Exchange| {
            exchange.data().and_then(|data| pages::cursor(data, "endCursor")).is_some()
        };
        let is_untouched = info(&exchange).is_some()
            && info(&exchange) == info(&all)
            && has_cursor(&exchange) == has_cursor(&all);
        cases.expect(is_untouched, || Finding::of(&exchange, about(operation)));
    });
    do_all(jobs).await;
}

pub(super) async fn default_preset(run: &Run, cases: &Cases) {
    let jobs = having(run, "fields", cases).into_iter().map(|operation| async move {
        let Some(all) = full(run, operation, cases).await else { return };
        let Some(plain) = choose(run, operation, None, cases).await else { return };
        let is_page = all.data().is_some_and(|data| pages::items(data).is_some());
        let preset = match operation.name.split('_').next() {
            Some("search") => "minimal",
            _ if is_page => "standard",
            _ => "full",
        };
        let chosen = choose(run, operation, Some(json!(preset)), cases).await;
        let Some(expected) = chosen else { return };
        let of = |exchange: &Exchange| -> BTreeSet<String> {
            exchange.data().map(names).unwrap_or_default().into_iter().map(str::to_owned).collect()
        };
        cases.expect(of(&plain) == of(&expected), || {
            Finding::of(&plain, about(operation))
                .expected(format!("the fields of \"{preset}\": {}", listed(of(&expected))))
        });
    });
    do_all(jobs).await;
}
