//! Checks of unusual page sizes.

use serde_json::{Value, json};

use super::paged;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{call_with, expect_refused, is_refused};
use crate::pages;
use crate::run::{Run, do_all};

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

pub(super) async fn zero(run: &Run, cases: &Cases) {
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        let more = [("first", json!(0))];
        let Some(exchange) = call_with(run, operation, more, cases).await else { return };
        let is_empty = exchange.data().and_then(pages::items).is_some_and(|items| items.is_empty());
        cases.expect(is_empty || is_refused(&exchange), || {
            Finding::of(&exchange, format!("{}: first", operation.name))
        });
    });
    do_all(jobs).await;
}

pub(super) async fn negative(run: &Run, cases: &Cases) {
    let jobs = paged(run, cases).into_iter().flat_map(|operation| {
        [json!(-1), json!(1.5)].map(|size| async move {
            let finding = (
                format!("{}: first", operation.name),
                "VALIDATION_INVALID_VALUE or VALIDATION_INVALID_TYPE",
                "accept non-negative integers only",
            );
            expect_refused(run, operation, [("first", size)], finding, cases).await;
        })
    });
    do_all(jobs).await;
}
