//! Checks of confirmation requests and the form of their tokens.

use std::collections::BTreeSet;
use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::pending_call::ask;
use crate::call::Exchange;
use crate::cases::{Cases, Finding};
use crate::checks::danger_levels::LEVELS;
use crate::forms::{Form, INSTANT, may, must};
use crate::items::token_of;
use crate::run::Run;

/// Expects a request for confirmation with details such as these:
///
/// ```json
/// { "operation": "delete_bed", "danger_level": "destructive", "confirmation_token": "conf_7Jd0…",
///   "expires_at": "2031-05-06T07:13:09Z", "confirmation_message": "Delete bed 'bed-7'?" }
/// ```
pub(super) async fn issued(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    const DETAILS: Form = Form::Open(&[
        must("operation", Form::Word),
        must("danger_level", Form::OneOf(&LEVELS)),
        must("confirmation_token", Form::Word),
        must("expires_at", INSTANT),
        may("reasons", Form::List(&Form::Word)),
        may("confirmation_message", Form::Word),
    ]);
    let details =
        asked.exchange.failure().map(|failure| failure.details.clone()).unwrap_or_default();
    DETAILS.check(&details, cases, || {
        asked.finding(&asked.exchange).expected("`error.details` of this form: {faults}")
    });
    cases.expect(
        details.get("operation").is_none_or(|named| *named == asked.operation.name.as_str()),
        || {
            asked
                .finding(&asked.exchange)
                .expected(format!("`details.operation` \"{}\"", asked.operation.name))
                .fix("name the operation that needs confirmation")
        },
    );
}

pub(super) async fn token_form(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let Some(token) = asked.token(cases) else { return };
    let body = token.strip_prefix("conf_");
    let is_plain = |body: &str| {
        (1..=64).contains(&body.len())
            && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let holds = (8..=80).contains(&token.len()) && body.is_some_and(is_plain);
    cases.expect(holds, || asked.finding(&asked.exchange));
}

pub(super) async fn fresh(run: &Run, cases: &Cases) {
    const TOKENS: usize = 5;
    let Some(asked) = ask(run, cases).await else { return };
    let mut tokens: Vec<_> = asked.token(cases).into_iter().collect();
    while tokens.len() < TOKENS {
        let again = run.call(asked.operation, asked.params.clone(), cases).await;
        let Some(token) = again.as_ref().and_then(token_of) else { break };
        tokens.push(token.to_owned());
    }
    if tokens.len() < TOKENS {
        return cases.skip_without(format!("{TOKENS} tokens to compare"));
    }
    let bodies: Vec<_> = tokens.iter().map(|token| token.trim_start_matches("conf_")).collect();
    let distinct = bodies.iter().collect::<BTreeSet<_>>().len() == bodies.len();
    // 128 bits need 22 characters of base64 or 32 hexadecimal digits.
    let is_hexadecimal =
        bodies.iter().all(|body| body.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'));
    let least = if is_hexadecimal { 32 } else { 22 };
    let length = |body: &str| body.bytes().filter(|byte| *byte != b'-' || !is_hexadecimal).count();
    let is_long = bodies.iter().all(|body| length(body) >= least);
    // Random tokens rarely have equal characters at the same index.
    let is_apart = bodies.windows(2).all(|pair| {
        let (Some(one), Some(other)) = (pair.first(), pair.last()) else { return true };
        let alike = one.bytes().zip(other.bytes()).filter(|(one, other)| one == other).count();
        alike * 2 < one.len().max(1)
    });
    cases.expect(distinct && is_long && is_apart, || {
        asked.finding(&asked.exchange).received(json!(tokens))
    });
}

pub(super) async fn expiry(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let details =
        asked.exchange.failure().map(|failure| failure.details.clone()).unwrap_or_default();
    let expires_at = details.get("expires_at").and_then(Value::as_str);
    let Some(expires_at) = expires_at.and_then(|text| DateTime::parse_from_rfc3339(text).ok())
    else {
        return cases.skip_without("a token with `expires_at`");
    };
    let is_forbidden = details.get("danger_level").is_some_and(|level| level == "forbidden");
    let most = TimeDelta::minutes(if is_forbidden { 5 } else { 15 });
    // Allowed difference between the two clocks.
    let skew = TimeDelta::seconds(90);
    let left = expires_at.with_timezone(&Utc) - DateTime::<Utc>::from(SystemTime::now());
    cases.expect(left > -skew && left <= most + skew, || {
        asked
            .finding(&asked.exchange)
            .expected(format!("`expires_at` within {} minutes from now", most.num_minutes()))
    });
}

pub(super) fn not_needed(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(operation) = run.adapter.operation(exchange.operation()) else { return };
    if !operation.is_read() || exchange.body().is_none() {
        return;
    }
    if !cases.is_readable(exchange) {
        return;
    }
    cases.expect(exchange.code() != Some("CONFIRMATION_REQUIRED"), || {
        Finding::of(exchange, &operation.name)
    });
}
