//! Checks of the members of results next to `data`.

use serde_json::Value;

use super::{is_batch, of_success, subject};
use crate::call::{Exchange, is_hidden_failure};
use crate::cases::{Cases, Finding};
use crate::forms::{self, Form, may, must};
use crate::run::Run;

/// Maximum number of warnings in a result.
const MAX_WARNINGS: usize = 10;

/// Returns the result of a failed call.
fn of_failure(exchange: &Exchange) -> Option<&Value> {
    exchange.body().filter(|body| body.get("success") == Some(&Value::Bool(false)))
}

pub(super) fn union(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(body) = exchange.body() else { return };
    cases.expect(body.get("success").is_some_and(Value::is_boolean), || {
        Finding::of(exchange, subject(exchange))
    });
}

pub(super) fn success(_: &Run, exchange: &Exchange, cases: &Cases) {
    const SUCCESS: Form = Form::Object(&[
        must("success", Form::Just(true)),
        must("data", Form::Any),
        may("warnings", Form::Any),
        may("_meta", Form::Any),
        may("results", Form::Any),
        may("summary", Form::Any),
    ]);
    // The check `batch.form` judges the replies to batches.
    let Some(body) = of_success(exchange).filter(|_| !is_batch(exchange)) else { return };
    SUCCESS.check(body, cases, || Finding::of(exchange, subject(exchange)));
}

pub(super) fn failure(_: &Run, exchange: &Exchange, cases: &Cases) {
    const FAILURE: Form = Form::Object(&[
        must("success", Form::Just(false)),
        // The check `errors.form` judges the error itself.
        must("error", Form::Any),
        may("confirmation", Form::Any),
        may("deprecated", Form::Any),
        may("deprecationMessage", Form::Any),
        may("deprecatedSince", Form::Any),
        may("removalVersion", Form::Any),
    ]);
    if let Some(body) = exchange.body().filter(|body| is_hidden_failure(body)) {
        return cases.fail(
            Finding::of(exchange, subject(exchange))
                .expected("a failure, because `data` reports an error")
                .fix(format!(
                    "return {{\"success\": false, \"error\": {{\"code\": …, \"message\": …}}}} \
                     when an operation rejects its parameters or cannot do its work{}",
                    if body.pointer("/data/content").is_some() {
                        " instead of a message in `content`"
                    } else {
                        ""
                    },
                )),
        );
    }
    let Some(body) = of_failure(exchange) else { return };
    FAILURE.check(body, cases, || Finding::of(exchange, subject(exchange)));
}

pub(super) fn meta(_: &Run, exchange: &Exchange, cases: &Cases) {
    const META: Form =
        Form::Open(&[may("request_id", Form::Text), may("duration_ms", Form::AtLeast(0.0))]);
    let Some(body) = of_success(exchange) else { return };
    let Some(meta) = body.get("_meta") else {
        return cases.not_applicable("no result has `_meta`, which is optional");
    };
    META.check(meta, cases, || Finding::of(exchange, subject(exchange)));
}

const NO_WARNINGS: &str = "no result has `warnings`, which are optional";

const SEVERITIES: [&str; 3] = ["high", "medium", "low"];

pub(super) fn warnings(_: &Run, exchange: &Exchange, cases: &Cases) {
    const WARNINGS: Form = Form::List(&Form::Object(&[
        must("code", forms::CODE),
        must("message", Form::Word),
        may("details", Form::Open(&[])),
        may("severity", Form::OneOf(&SEVERITIES)),
    ]));
    let Some(body) = of_success(exchange) else { return };
    let Some(warnings) = body.get("warnings") else {
        return cases.not_applicable(NO_WARNINGS);
    };
    WARNINGS.check(warnings, cases, || Finding::of(exchange, subject(exchange)));
}

pub(super) fn warnings_order(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(body) = of_success(exchange) else { return };
    let Some(Value::Array(warnings)) = body.get("warnings") else {
        return cases.not_applicable(NO_WARNINGS);
    };
    let ranks: Vec<_> = warnings
        .iter()
        .map(|warning| {
            let severity = warning.get("severity").and_then(Value::as_str).unwrap_or("medium");
            SEVERITIES.iter().position(|known| *known == severity)
        })
        .collect();
    let are_sorted = ranks.is_sorted();
    let are_few = warnings.len() <= MAX_WARNINGS;
    let are_unique = !warnings
        .iter()
        .enumerate()
        .any(|(index, warning)| warnings.iter().take(index).any(|earlier| earlier == warning));
    cases.expect(are_sorted && are_few && are_unique, || {
        Finding::of(exchange, subject(exchange)).expected(format!(
            "at most {MAX_WARNINGS} warnings, each once, ordered high, medium, low; there are {}",
            warnings.len()
        ))
    });
}

pub(super) fn confirmation_mirror(_: &Run, exchange: &Exchange, cases: &Cases) {
    const MIRROR: Form = Form::Object(&[
        must("token", Form::Word),
        must("expires_at", Form::Word),
        may("message", Form::Text),
        may("reasons", Form::List(&Form::Text)),
    ]);
    let Some(body) = of_failure(exchange) else { return };
    let Some(mirror) = body.get("confirmation") else {
        return cases.not_applicable("no failure has `confirmation`, which is optional");
    };
    let details = body.pointer("/error/details");
    let is_same = |mirrored: &str, detail: &str| {
        let detail = details.and_then(|details| details.get(detail));
        mirror.get(mirrored) == detail
    };
    let is_whole = MIRROR.fits(mirror);
    let agrees = is_same("token", "confirmation_token") && is_same("expires_at", "expires_at");
    cases.expect(is_whole && agrees, || Finding::of(exchange, subject(exchange)));
}
