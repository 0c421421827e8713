//! Checks of rate limits and quotas: their status, and the failures of rejected calls.

use serde_json::{Value, json};

use super::{Check, checks};
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::forms::{Form, INSTANT, may, must};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = checks![
    Must 2 "quotas.status_form" => Reads(status_form),
        ["REQ-RATE-08", "REQ-RATE-03", "REQ-RATE-05"],
        "`introspect` with `quota_status` returns the status of each limit and quota",
        fix: "return the remaining amount and the reset time of each limit, and the used amount of each quota";
    Must 2 "quotas.exceeded_form" => Every(exceeded_form), ["REQ-RATE-02", "REQ-RATE-06"],
        "The failure of a rate-limited call states when to retry",
        fix: "use the codes of the protocol; a warning belongs in `warnings` of a success";
];

const METRICS: &[&str] = &[
    "requests_per_minute",
    "requests_per_hour",
    "requests_per_day",
    "tokens_per_minute",
    "tokens_per_hour",
    "tokens_per_day",
    "cost_per_hour",
    "cost_per_day",
    "cost_per_month",
];

const STEP: Form = Form::Either(&[Form::AtLeast(0.0), Form::Text, Form::Null]);
/// An amount. Money is a string, because it must be exact.
const AMOUNT: Form = Form::Either(&[Form::AtLeast(0.0), Form::Text]);

const LIMIT: Form = Form::Open(&[
    must("limit", Form::Whole(0)),
    must("remaining", Form::Whole(0)),
    must("window", Form::OneOf(&["second", "minute", "hour", "day"])),
    must("resets_at", INSTANT),
]);

const QUOTA: Form = Form::Open(&[
    must("metric", Form::OneOf(METRICS)),
    must("current", AMOUNT),
    may("warn", STEP),
    may("pause", STEP),
    may("hard_stop", STEP),
    must("status", Form::OneOf(&["ok", "warn", "paused", "exhausted"])),
    may("currency", Form::Word),
]);

const STATUS: Form = Form::Open(&[
    must("adapter", Form::Word),
    must("api_limits", Form::Each(&LIMIT)),
    must("quotas", Form::List(&QUOTA)),
    may("next_reset", Form::Either(&[INSTANT, Form::Null])),
]);

async fn status_form(run: &Run, cases: &Cases) {
    if !run.adapter.documents_query("quota_status") {
        return cases.not_applicable("`introspect` does not document the query `quota_status`");
    }
    let query = json!({ "query": "quota_status" });
    let Some(exchange) = run.introspect(query, cases).await else { return };
    let data = exchange.data().cloned().unwrap_or_default();
    let has_form = STATUS.check(&data, cases, || Finding::of(&exchange, "introspect quota_status"));
    if !has_form {
        return;
    }
    let limits = data.get("api_limits").and_then(Value::as_object);
    for (name, limit) in limits.into_iter().flatten() {
        let number = |name: &str| limit.get(name).and_then(Value::as_f64).unwrap_or_default();
        cases.expect(number("remaining") <= number("limit"), || {
            Finding::of(&exchange, format!("introspect quota_status, `{name}`"))
                .expected("at most the limit as the remaining amount")
                .fix("count the remaining amount down from the limit")
        });
    }
}

fn exceeded_form(run: &Run, exchange: &Exchange, cases: &Cases) {
    if !run.adapter.documents_query("quota_status") {
        cases.not_applicable("`introspect` does not document the query `quota_status`");
    }
    let Some(failure) =
        exchange.failure().filter(|failure| failure.code.starts_with("RATE_LIMIT_"))
    else {
        // A finding or a passed case overrides this.
        return cases.not_applicable("no call was rate-limited");
    };
    const EXCEEDED: Form = Form::Open(&[
        must("limit", Form::Either(&[Form::AtLeast(0.0), Form::Null])),
        must("remaining", Form::AtLeast(0.0)),
        must("window", Form::Either(&[Form::Word, Form::AtLeast(0.0), Form::Null])),
        must("resets_at", Form::Either(&[INSTANT, Form::Null])),
        must("retry_after_seconds", Form::AtLeast(0.0)),
    ]);
    const PAUSE: Form = Form::Open(&[
        must("metric", Form::OneOf(METRICS)),
        must("current", AMOUNT),
        must("pause_threshold", AMOUNT),
        must("confirmation_token", Form::Word),
        must("expires_at", INSTANT),
    ]);
    const EXHAUSTED: Form = Form::Open(&[
        must("metric", Form::OneOf(METRICS)),
        must("current", AMOUNT),
        must("hard_stop_threshold", AMOUNT),
        must("resets_at", INSTANT),
        must("retry_after_seconds", Form::AtLeast(0.0)),
    ]);
    let form = match failure.code {
        "RATE_LIMIT_EXCEEDED" => EXCEEDED,
        "RATE_LIMIT_QUOTA_PAUSE" => PAUSE,
        "RATE_LIMIT_QUOTA_EXHAUSTED" => EXHAUSTED,
        _ => {
            return cases.fail(Finding::of(exchange, exchange.operation()).expected(
                "RATE_LIMIT_EXCEEDED, RATE_LIMIT_QUOTA_PAUSE or RATE_LIMIT_QUOTA_EXHAUSTED",
            ));
        }
    };
    form.check(failure.details, cases, || {
        Finding::of(exchange, exchange.operation())
            .expected(format!("`error.details` of {}: {{faults}}", failure.code))
            .fix("state the limit and the seconds until a retry can succeed")
    });
}
