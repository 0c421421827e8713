//! Checks of the documentation and the form of pages.

use serde_json::{Value, json};

use super::{SMALL_PAGE_SIZE, paged};
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::calls::call_with;
use crate::checks::planned::{CallReply, PlannedCall, valid_calls};
use crate::finding::listed;
use crate::pages::{self, CURSORS};
use crate::run::{Run, do_all};

/// The parameters of page-number pagination. A `limit` alone selects no page.
const NUMBERED: [&str; 2] = ["offset", "page"];

/// Plans calls for the first page of every operation with cursors.
pub(super) fn first_pages<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let size = json!({ "first": SMALL_PAGE_SIZE });
    valid_calls(run, paged(run, cases), "", &[size], cases)
}

/// Returns the page in a reply. Skips the case if there is none.
fn page<'a>(it: &CallReply<'a>) -> Option<&'a Value> {
    if it.data().is_none() {
        it.cases.skip_without(format!("`{}` returns no page", it.call.operation.name));
    }
    it.data()
}

/// Plans valid calls of the READ operations that require no parameters.
pub(super) fn plain_reads<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let lists = run.adapter.reads().filter(|operation| operation.required().next().is_none());
    let lists = cases.some_or_not_applicable(lists, "no READ operation returns pages");
    valid_calls(run, lists, "", &[json!({})], cases)
}

pub(super) fn is_documented(it: &CallReply<'_>) -> Option<bool> {
    let data = it.data()?;
    let says_more = pages::has(data, "hasNextPage")
        || data.pointer("/pagination/has_more") == Some(&Value::Bool(true));
    let mut names = ["after", "offset", "page"].iter();
    Some(!says_more || names.any(|name| it.call.operation.parameter(name).is_some()))
}

pub(super) fn both_ways(run: &Run, cases: &Cases) {
    for operation in paged(run, cases) {
        let missing: Vec<_> =
            CURSORS.iter().filter(|name| operation.parameter(name).is_none()).collect();
        cases.expect(missing.is_empty(), || {
            let names: Vec<_> =
                operation.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            Finding::shown(&operation.name, names).expected(format!(
                "`first`, `after`, `last` and `before`; missing: {}",
                listed(&missing)
            ))
        });
    }
}

pub(super) fn has_info(it: &CallReply<'_>) -> Option<bool> {
    let data = page(it)?;
    let info = pages::info(data);
    let is = |name: &str, holds: fn(&Value) -> bool| {
        info.is_some_and(|info| info.get(name).is_some_and(holds))
    };
    let has_items = pages::items(data).is_some_and(|items| !items.is_empty());
    let has_cursors = is("startCursor", Value::is_string) && is("endCursor", Value::is_string);
    let has_switches =
        ["hasNextPage", "hasPreviousPage"].iter().all(|it| is(it, Value::is_boolean));
    Some(has_switches && (!has_items || has_cursors))
}

pub(super) fn has_items_or_edges(it: &CallReply<'_>) -> Option<bool> {
    let data = page(it)?;
    let is_list = |name: &str| data.get(name).is_some_and(Value::is_array);
    let mut edges = data.get("edges").and_then(Value::as_array).into_iter().flatten();
    let has_form = edges
        .all(|edge| edge.get("node").is_some() && edge.get("cursor").is_some_and(Value::is_string));
    Some((is_list("items") != is_list("edges")) && has_form)
}

pub(super) async fn cursor_form(run: &Run, cases: &Cases) {
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        let more = [("first", json!(1))];
        let Some(exchange) = call_with(run, operation, more, cases).await else { return };
        let Some(data) = exchange.data() else {
            return cases.skip_without(format!("`{}` returns no page", operation.name));
        };
        if pages::cursor(data, "endCursor").is_none() {
            cases.skip_scarce(format!("`{}` returns no cursor", operation.name));
        }
        for name in ["startCursor", "endCursor"] {
            let Some(cursor) = pages::cursor(data, name) else { continue };
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~=".contains(&byte);
            cases.expect(!cursor.is_empty() && cursor.bytes().all(is_safe), || {
                Finding::of(&exchange, format!("{}: {name}", operation.name))
            });
        }
    });
    do_all(jobs).await;
}

/// Plans calls for the first page of every operation with pages by number or by offset.
pub(super) fn numbered_pages<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let has = |operation: &Operation, name: &str| operation.parameter(name).is_some();
    let numbered = run.adapter.reads().filter(|it| NUMBERED.iter().any(|name| has(it, name)));
    let numbered =
        cases.some_or_not_applicable(numbered, "no READ operation documents `offset` or `page`");
    let calls = numbered.into_iter().flat_map(|operation| {
        let styles = [
            ("page", json!({ "page": 1, "page_size": SMALL_PAGE_SIZE })),
            ("offset", json!({ "limit": SMALL_PAGE_SIZE, "offset": 0 })),
        ];
        let styles = styles.into_iter().filter(|(name, _)| has(operation, name));
        let mut styles: Vec<_> = styles.map(|(_, style)| style).collect();
        for style in styles.iter_mut().filter_map(Value::as_object_mut) {
            style.retain(|name, _| has(operation, name));
        }
        valid_calls(run, vec![operation], "", &styles, cases)
    });
    calls.collect()
}

pub(super) fn has_numbers(it: &CallReply<'_>) -> Option<bool> {
    let data = page(it)?;
    let member = |name: &str| data.pointer(&format!("/pagination/{name}"));
    let is_count = |name: &str| member(name).is_some_and(Value::is_u64);
    let has_place =
        (is_count("page") && is_count("page_size")) || (is_count("limit") && is_count("offset"));
    let mut optional = ["returned", "total_items", "total_pages"].iter();
    Some(
        has_place
            && optional.all(|name| member(name).is_none_or(Value::is_u64))
            && member("has_more").is_none_or(Value::is_boolean),
    )
}
