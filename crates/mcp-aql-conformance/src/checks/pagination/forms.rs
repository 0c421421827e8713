//! Checks of the documentation and the form of pages.

use serde_json::{Value, json};

use super::{SMALL_PAGE_SIZE, paged};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{call_with, valid};
use crate::finding::listed;
use crate::pages::{self, CURSORS};
use crate::run::{Run, do_all};

/// The parameters of page-number pagination. A `limit` alone selects no page.
const NUMBERED: [&str; 2] = ["offset", "page"];

/// Reads the first page of this size of every operation with cursors. Passes the pages to `look`.
async fn each_page(
    run: &Run,
    cases: &Cases,
    size: usize,
    look: impl Fn(&Operation, &Exchange, &Value),
) {
    let look = &look;
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        let more = [("first", json!(size))];
        let Some(exchange) = call_with(run, operation, more, cases).await else { return };
        match exchange.data() {
            Some(data) => look(operation, &exchange, data),
            None => cases.skip_without(format!("`{}` returns no page", operation.name)),
        }
    });
    do_all(jobs).await;
}

pub(super) async fn documented(run: &Run, cases: &Cases) {
    let lists = run.adapter.reads().filter(|operation| operation.required().next().is_none());
    let lists = cases.some_or_not_applicable(lists, "no READ operation returns pages");
    let jobs = lists.into_iter().map(|operation| async move {
        let Some(params) = valid(run, operation, cases) else { return };
        let Some(exchange) = run.call(operation, params, cases).await else { return };
        let Some(data) = exchange.data() else { return };
        let says_more = pages::has(data, "hasNextPage")
            || data.pointer("/pagination/has_more") == Some(&Value::Bool(true));
        let is_documented =
            ["after", "offset", "page"].iter().any(|name| operation.parameter(name).is_some());
        cases.expect(!says_more || is_documented, || Finding::of(&exchange, &operation.name));
    });
    do_all(jobs).await;
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

pub(super) async fn form(run: &Run, cases: &Cases) {
    each_page(run, cases, SMALL_PAGE_SIZE, |operation, exchange, data| {
        let info = pages::info(data);
        let is_switch =
            |name: &str| info.is_some_and(|info| info.get(name).is_some_and(Value::is_boolean));
        let is_cursor =
            |name: &str| info.is_some_and(|info| info.get(name).is_some_and(Value::is_string));
        let has_items = pages::items(data).is_some_and(|items| !items.is_empty());
        let holds = is_switch("hasNextPage")
            && is_switch("hasPreviousPage")
            && (!has_items || (is_cursor("startCursor") && is_cursor("endCursor")));
        cases.expect(holds, || Finding::of(exchange, &operation.name));
    })
    .await;
}

pub(super) async fn items_or_edges(run: &Run, cases: &Cases) {
    each_page(run, cases, SMALL_PAGE_SIZE, |operation, exchange, data| {
        let is_list = |name: &str| data.get(name).is_some_and(Value::is_array);
        let edges = data.get("edges").and_then(Value::as_array).into_iter().flatten();
        let has_form = edges.into_iter().all(|edge| {
            edge.get("node").is_some() && edge.get("cursor").is_some_and(Value::is_string)
        });
        cases.expect((is_list("items") != is_list("edges")) && has_form, || {
            Finding::of(exchange, &operation.name)
        });
    })
    .await;
}

pub(super) async fn cursor_form(run: &Run, cases: &Cases) {
    each_page(run, cases, 1, |operation, exchange, data| {
        if pages::cursor(data, "endCursor").is_none() {
            cases.skip_scarce(format!("`{}` returns no cursor", operation.name));
        }
        for name in ["startCursor", "endCursor"] {
            let Some(cursor) = pages::cursor(data, name) else { continue };
            let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~=".contains(&byte);
            cases.expect(!cursor.is_empty() && cursor.bytes().all(is_safe), || {
                Finding::of(exchange, format!("{}: {name}", operation.name))
            });
        }
    })
    .await;
}

pub(super) async fn numbered_form(run: &Run, cases: &Cases) {
    let numbered = run
        .adapter
        .reads()
        .filter(|operation| NUMBERED.iter().any(|name| operation.parameter(name).is_some()));
    let numbered =
        cases.some_or_not_applicable(numbered, "no READ operation documents `offset` or `page`");
    let styles = [
        ("page", json!({ "page": 1, "page_size": SMALL_PAGE_SIZE })),
        ("limit", json!({ "limit": SMALL_PAGE_SIZE, "offset": 0 })),
    ];
    let mut calls = Vec::new();
    for operation in numbered {
        for (name, style) in &styles {
            let leads_on = if *name == "limit" { "offset" } else { "page" };
            if operation.parameter(leads_on).is_some() {
                let mut style = style.as_object().cloned().unwrap_or_default();
                style.retain(|name, _| operation.parameter(name).is_some());
                calls.push((operation, style));
            }
        }
    }
    let jobs = calls.into_iter().map(|(operation, style)| async move {
        let Some(exchange) = call_with(run, operation, style, cases).await else { return };
        let Some(data) = exchange.data() else {
            return cases.skip_without(format!("`{}` returns no page", operation.name));
        };
        let is_count =
            |name: &str| data.pointer(&format!("/pagination/{name}")).is_some_and(Value::is_u64);
        let is_there = |name: &str| data.pointer(&format!("/pagination/{name}")).is_some();
        let optional = ["returned", "total_items", "total_pages"];
        let holds = ((is_count("page") && is_count("page_size"))
            || (is_count("limit") && is_count("offset")))
            && optional.into_iter().all(|name| !is_there(name) || is_count(name))
            && data.pointer("/pagination/has_more").is_none_or(Value::is_boolean);
        cases.expect(holds, || Finding::of(&exchange, &operation.name));
    });
    do_all(jobs).await;
}
