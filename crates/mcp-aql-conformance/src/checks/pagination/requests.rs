//! Checks of contradictory parameters, of wrong cursors and of unusual page sizes.

use serde_json::{Map, Value, json};

use super::paged;
use crate::adapter::Operation;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{call_with, is_refused};
use crate::checks::planned::{CallReply, PlannedCall, invalid_calls, valid_calls};
use crate::pages;
use crate::run::{Run, do_all};

/// Returns the contradictory combinations that the parameters of an operation allow.
fn contradictions(operation: &Operation) -> Vec<Map<String, Value>> {
    [
        json!({ "first": 1, "last": 1 }),
        json!({ "after": "conformance" }),
        json!({ "before": "conformance" }),
        json!({ "first": 1, "before": "conformance" }),
        json!({ "last": 1, "after": "conformance" }),
    ]
    .into_iter()
    .filter_map(|params| params.as_object().cloned())
    .filter(|params| {
        params.keys().all(|name| operation.parameter(name).is_some())
            // A documented default page size replaces the missing parameter.
            && !(params.len() == 1
                && ["first", "last"].iter().any(|name| {
                    operation.parameter(name).is_some_and(|size| size.member("default").is_some())
                }))
    })
    .collect()
}

/// Plans calls with each contradictory combination.
pub(super) fn contradictory<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let operations = paged(run, cases);
    if !operations.is_empty() && operations.iter().all(|it| contradictions(it).is_empty()) {
        cases.not_applicable("no operation documents parameters that can contradict each other");
    }
    let calls = operations.into_iter().flat_map(|operation| {
        contradictions(operation).into_iter().flat_map(move |given| {
            let names = given.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            invalid_calls(run, vec![operation], &names.join(" with "), &[given.into()], cases)
        })
    });
    calls.collect()
}

/// Expects details such as these for `{ "first": 1, "last": 1 }`:
///
/// ```json
/// { "param_name": "pagination", "expected_type": "'first' or 'last'", "actual_type": "first+last",
///   "provided": ["first", "last"], "hint": "ask for the first rows or for the last, not both" }
/// ```
pub(super) fn are_detailed(it: &CallReply<'_>) -> Option<bool> {
    let failure = it.failure()?;
    let is_text = |name: &str| failure.details.get(name).is_some_and(Value::is_string);
    Some(
        failure.code == "VALIDATION_INVALID_TYPE"
            && failure.details.get("param_name").is_some_and(|name| name == "pagination")
            && ["expected_type", "actual_type", "hint"].into_iter().all(is_text)
            && failure.details.get("provided").is_some(),
    )
}

/// Plans calls with cursors that cannot be decoded:
///
/// ```json
/// { "first": 1, "after": "no cursor" }
/// ```
pub(super) fn unreadable<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let cursors = ["no cursor", "%%%%"].map(|cursor| json!({ "first": 1, "after": cursor }));
    invalid_calls(run, paged(run, cases), "after", &cursors, cases)
}

/// Forged cursors in the usual encodings: `1`, `no`, `{"offset":0}` and 24 zero bytes. No adapter with opaque cursors
/// issues them.
/// If you know another usual encoding, add a cursor in it.
const FORGED: [&str; 4] = ["MQ", "bm8", "eyJvZmZzZXQiOjB9", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"];

/// Plans calls with forged cursors, and with the cursors of other lists, even if the called list is empty.
pub(super) async fn forged<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let returned =
        |operation: &'r Operation| operation.details().pointer("/returns/name")?.as_str();
    // Lists of executions only have cursors once there is an execution.
    crate::checks::lifecycle::begin_any(run).await;
    let mut cursors: Vec<_> = FORGED.iter().map(|cursor| (None, (*cursor).to_owned())).collect();
    for operation in paged(run, cases) {
        let more = [("first", json!(1))];
        let Some(page) = call_with(run, operation, more, cases).await else { continue };
        let cursor = page.data().and_then(|data| pages::cursor(data, "endCursor"));
        let own = cursor.zip(returned(operation));
        cursors.extend(own.map(|(cursor, of)| (Some(of), cursor.to_owned())));
    }
    let calls = paged(run, cases).into_iter().flat_map(|operation| {
        // Lists of the same type may share cursors.
        let others = cursors.iter().filter(|(of, _)| of.is_none() || *of != returned(operation));
        let others: Vec<_> =
            others.map(|(_, cursor)| json!({ "first": 1, "after": cursor })).collect();
        invalid_calls(run, vec![operation], "after", &others, cases)
    });
    calls.collect()
}

/// Plans calls with a cursor of the list in which one character was changed.
pub(super) async fn tampered<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let mut calls = Vec::new();
    for operation in paged(run, cases) {
        let more = [("first", json!(1))];
        let Some(page) = call_with(run, operation, more, cases).await else { continue };
        let Some(cursor) = page.data().and_then(|data| pages::cursor(data, "endCursor")) else {
            cases.skip_scarce(format!("`{}` returns no cursor", operation.name));
            continue;
        };
        // Change a character in the middle, because the last characters of base64 may carry no information.
        let middle = cursor.chars().count() / 2;
        let letters = cursor.chars().enumerate().map(|(at, letter)| match letter {
            'A' if at == middle => 'B',
            _ if at == middle => 'A',
            letter => letter,
        });
        let change = json!({ "first": 1, "after": letters.collect::<String>() });
        calls.extend(invalid_calls(run, vec![operation], "after", &[change], cases));
    }
    calls
}

/// A number above every maximum page size.
const HUGE_PAGE_SIZE: u64 = 1_000_000;

pub(super) async fn clamp(run: &Run, cases: &Cases) {
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        // A documented `maximum` requires a rejection (REQ-RQ-07). This requirement advises against that.
        let first = operation.parameter("first");
        let maximum = first.filter(|first| first.member("maximum").is_some());
        if let Some(first) = maximum {
            return cases.fail(
                Finding::shown(
                    format!("{}: first", operation.name),
                    Value::Object(first.raw.clone()),
                )
                .expected(
                    "`first` without `maximum`, because larger sizes are reduced and not rejected",
                ),
            );
        }
        let more = [("first", json!(HUGE_PAGE_SIZE))];
        let Some(exchange) = call_with(run, operation, more, cases).await else { return };
        let items = exchange.data().and_then(pages::items);
        cases.expect(items.is_some_and(|items| items.len() <= 1_000), || {
            Finding::of(&exchange, format!("{}: first", operation.name))
                .expected("a page of the maximum size, at most 1000 items")
                .fix("reduce larger page sizes to the maximum")
        });
    });
    do_all(jobs).await;
}

pub(super) fn zero<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    valid_calls(run, paged(run, cases), "first", &[json!({ "first": 0 })], cases)
}

pub(super) fn negative<'r>(run: &'r Run, cases: &Cases) -> Vec<PlannedCall<'r>> {
    let sizes = [json!({ "first": -1 }), json!({ "first": 1.5 })];
    invalid_calls(run, paged(run, cases), "first", &sizes, cases)
}

pub(super) fn is_empty_or_rejected(it: &CallReply<'_>) -> Option<bool> {
    let is_empty = it.data().and_then(pages::items).is_some_and(|items| items.is_empty());
    Some(is_empty || is_refused(it.reply))
}
