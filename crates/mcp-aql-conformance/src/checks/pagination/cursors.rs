//! Checks of malformed, modified and forged cursors.

use serde_json::{Value, json};

use super::paged;
use crate::cases::{Cases, Finding};
use crate::checks::calls::{call_with, expect_refused, is_refused, valid_with};
use crate::pages;
use crate::run::{Run, do_all};

async fn with_cursor(
    run: &Run,
    cases: &Cases,
    change: impl Fn(&str) -> Vec<String>,
    (expected, fix): (&'static str, &'static str),
) {
    let change = &change;
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        let more = [("first", json!(1))];
        let Some(params) = valid_with(run, operation, more, cases) else { return };
        let Some(page) = run.call(operation, params.clone(), cases).await else { return };
        let Some(cursor) = page.data().and_then(|data| pages::cursor(data, "endCursor")) else {
            return cases.skip_scarce(format!("`{}` returns no cursor", operation.name));
        };
        for changed in change(cursor) {
            let mut params = params.clone();
            params.insert("after".to_owned(), json!(changed));
            let Some(exchange) = run.refused_call(operation, params, cases).await else { return };
            cases.expect(is_refused(&exchange), || {
                Finding::of(&exchange, format!("{}: after", operation.name))
                    .expected(expected)
                    .fix(fix)
            });
        }
    });
    do_all(jobs).await;
}

/// Calls each list with these cursors and expects a failure, even if the list is empty.
async fn refuses_cursors(
    run: &Run,
    cases: &Cases,
    cursors: &[(Option<&str>, String)],
    (expected, fix): (&'static str, &'static str),
) {
    let jobs = paged(run, cases).into_iter().map(|operation| async move {
        let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
        // Lists of the same type may share cursors.
        let others = cursors.iter().filter(|(of, _)| of.is_none() || *of != returned);
        for (_, cursor) in others {
            let more = [("first", json!(1)), ("after", json!(cursor))];
            let finding = (format!("{}: after", operation.name), expected, fix);
            let tried = expect_refused(run, operation, more, finding, cases).await;
            if tried.is_none() {
                return;
            }
        }
    });
    do_all(jobs).await;
}

/// Calls each list with cursors that cannot be decoded:
///
/// ```json
/// { "first": 1, "after": "no cursor" }
/// ```
pub(super) async fn bad_cursor(run: &Run, cases: &Cases) {
    let cursors = ["no cursor", "%%%%"].map(|cursor| (None, cursor.to_owned()));
    let reported = (
        "a VALIDATION failure that names `after`",
        "check cursors first, and reject unreadable ones with a VALIDATION code: do not return the \
         first page instead, and do not fail with another code",
    );
    refuses_cursors(run, cases, &cursors, reported).await;
}

/// Forged cursors in the usual encodings: `1`, `no`, `{"offset":0}` and 24 zero bytes. No adapter with opaque cursors
/// issues them.
/// If you know another usual encoding, add a cursor in it.
const FORGED: [&str; 4] = ["MQ", "bm8", "eyJvZmZzZXQiOjB9", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"];

pub(super) async fn forged_cursor(run: &Run, cases: &Cases) {
    // Lists of executions only have cursors once there is an execution.
    crate::checks::lifecycle::begin_any(run).await;
    let mut cursors: Vec<_> = FORGED.iter().map(|cursor| (None, (*cursor).to_owned())).collect();
    for operation in paged(run, cases) {
        let returned = operation.details().pointer("/returns/name").and_then(Value::as_str);
        let more = [("first", json!(1))];
        let Some(page) = call_with(run, operation, more, cases).await else { continue };
        let cursor = page.data().and_then(|data| pages::cursor(data, "endCursor"));
        cursors.extend(cursor.zip(returned).map(|(cursor, of)| (Some(of), cursor.to_owned())));
    }
    let reported = (
        "a VALIDATION failure that names `after`, because this list did not issue the cursor",
        "sign cursors together with their list, and reject all others: an empty page looks like \
         the end of the list",
    );
    refuses_cursors(run, cases, &cursors, reported).await;
}

pub(super) async fn tampered_cursor(run: &Run, cases: &Cases) {
    // Change a character in the middle, because the last characters of base64 may carry no information.
    let change = |cursor: &str| {
        let middle = cursor.chars().count() / 2;
        let letters = cursor.chars().enumerate().map(|(at, letter)| match letter {
            'A' if at == middle => 'B',
            _ if at == middle => 'A',
            letter => letter,
        });
        vec![letters.collect()]
    };
    let reported = (
        "a VALIDATION failure, because one character of the cursor was changed",
        "protect cursors with a checksum or a signature",
    );
    with_cursor(run, cases, change, reported).await;
}
