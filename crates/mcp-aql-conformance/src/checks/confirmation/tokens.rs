//! Checks of the calls that a token confirms, and of wrong tokens.

use serde_json::{Map, Value};

use super::pending_call::{PendingCall, ask, gated, held, none, params};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::category::Category;
use crate::checks::danger_levels::DangerLevels;
use crate::items::confirmed;
use crate::resources::GatedOperation;
use crate::run::Run;

/// A well-formed token that the adapter has not issued.
const UNKNOWN: &str = "conf_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

pub(super) async fn nothing_before(run: &Run, cases: &Cases) {
    for gated in gated(run).await {
        let Some(asked) = held(run, gated, cases).await else { continue };
        let Some(is_untouched) = asked.is_untouched(run, cases).await else { continue };
        cases.expect(is_untouched, || {
            asked.finding(&asked.exchange).expected(format!(
                "the {} unchanged, because the call is not confirmed yet",
                asked.thing.resource.name
            ))
        });
    }
    if gated(run).await.is_empty() {
        none(run, cases).await;
    }
}

pub(super) async fn accepted(run: &Run, cases: &Cases) {
    for gated in gated(run).await {
        let Some(asked) = held(run, gated, cases).await else { continue };
        let Some(token) = asked.token(cases) else { continue };
        let Some(exchange) = asked.with(run, &token, cases).await else { continue };
        let waits = exchange.failure().is_some_and(|failure| {
            failure.details.get("not_before").is_some()
                || failure.details.get("cooldown_seconds").is_some()
        });
        if waits {
            cases
                .skip_without(format!("the waiting time that `{}` requires", asked.operation.name));
            continue;
        }
        cases.expect_success(&exchange, true, || asked.finding(&exchange));
    }
    if gated(run).await.is_empty() {
        none(run, cases).await;
    }
}

pub(super) async fn single_use(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let Some(token) = asked.token(cases) else { return };
    let Some(first) = asked.with(run, &token, cases).await else { return };
    if !first.succeeded() {
        return cases.skip_without(format!("a token that `{}` accepts", asked.operation.name));
    }
    let Some(again) = asked.with(run, &token, cases).await else { return };
    let is_gone = asked.operation.category == Some(Category::Delete);
    if is_gone && again.code() == Some("NOT_FOUND_RESOURCE") {
        return cases.not_applicable(format!(
            "`{}` looks up the item before it checks the token, and the first call removed the \
             item",
            asked.operation.name
        ));
    }
    cases.expect(again.code().is_some_and(|code| code.starts_with("TOKEN_")), || {
        asked.finding(&again)
    });
}

pub(super) async fn other_params(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let Some(token) = asked.token(cases) else { return };
    let Some(other) = run.make_another(&asked.thing, cases).await else { return };
    let Some(params) = params(run, asked.operation, &other) else { return };
    let theirs = confirmed(asked.operation, params.clone(), &token);
    let Some(exchange) = run.call(asked.operation, theirs, cases).await else { return };
    let other = PendingCall { thing: other, params, exchange, ..asked };
    let Some(is_untouched) = other.is_untouched(run, cases).await else { return };
    cases.expect(is_untouched && other.exchange.code() == Some("TOKEN_SCOPE_MISMATCH"), || {
        other.finding(&other.exchange).expected(format!(
            "a failure TOKEN_SCOPE_MISMATCH, and this {} unchanged, because the token is for \
             another",
            other.thing.resource.name
        ))
    });
}

pub(super) async fn other_operation(run: &Run, cases: &Cases) {
    let Some((first, others)) = gated(run).await.split_first() else {
        return none(run, cases).await;
    };
    if others.is_empty() {
        return other_configured(run, first, cases).await;
    }
    for other in others {
        let Some(asked) = held(run, first, cases).await else { continue };
        let Some(token) = asked.token(cases) else { continue };
        let Some(other) = held(run, other, cases).await else { continue };
        let Some(exchange) = other.with(run, &token, cases).await else { continue };
        let Some(is_untouched) = other.is_untouched(run, cases).await else { continue };
        cases.expect(is_untouched && exchange.code() == Some("TOKEN_SCOPE_MISMATCH"), || {
            other.finding(&exchange).expected(format!(
                "a failure TOKEN_SCOPE_MISMATCH, and no change, because the token is for `{}`",
                asked.operation.name
            ))
        });
    }
}

/// Tries the token of one operation with operations that do not act on items of the run. They need configured
/// parameters.
async fn other_configured(run: &Run, first: &GatedOperation, cases: &Cases) {
    let stated = DangerLevels::query(run, cases).await;
    let configured = run.adapter.operations.iter().filter_map(|operation| {
        let params = run.settings.file.params.get(&operation.name)?;
        let is_other = operation.name != first.operation && !operation.is_read();
        (is_other && stated.says_confirmed(operation)).then_some((operation, params))
    });
    let configured: Vec<_> = configured.collect();
    if configured.is_empty() {
        return skip_other(run, first, &stated, cases);
    }
    for (operation, params) in configured {
        let Some(asked) = held(run, first, cases).await else { continue };
        let Some(token) = asked.token(cases) else { continue };
        let params = confirmed(operation, params.clone(), &token);
        let Some(exchange) = run.call(operation, params, cases).await else { continue };
        cases.expect(exchange.code() == Some("TOKEN_SCOPE_MISMATCH"), || {
            Finding::of(&exchange, &operation.name).expected(format!(
                "a failure TOKEN_SCOPE_MISMATCH: the token is for `{}`",
                asked.operation.name
            ))
        });
    }
}

/// Records why no second operation could be tried.
fn skip_other(run: &Run, first: &GatedOperation, stated: &DangerLevels, cases: &Cases) {
    let is_forbidden_on_one = |operation: &Operation| {
        run.forbids(operation).is_some()
            && run.resources().kinds().iter().any(|kind| {
                let mut on_one = run.resources().on_one(&run.adapter, kind);
                on_one.any(|other| other.name == operation.name)
            })
    };
    let untried = run.adapter.operations.iter().find(|operation| {
        operation.name != first.operation
            && (stated.says_confirmed(operation) || is_forbidden_on_one(operation))
    });
    let Some(operation) = untried else {
        return cases.not_applicable("only one operation requires confirmation");
    };
    cases.skip(run.forbids(operation).unwrap_or_else(|| {
        Skip::NoFixture(format!(
            "a second operation that requires confirmation and acts on items that the run creates, \
             unlike `{}`",
            operation.name
        ))
    }));
}

pub(super) async fn unknown_token(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    // The last token is a valid one with its last character changed.
    let token = asked.token(cases).unwrap_or_default();
    let mut turned: Vec<char> = token.chars().collect();
    if let Some(last) = turned.last_mut() {
        *last = if *last == 'A' { 'E' } else { 'A' };
    }
    let turned: String = turned.into_iter().collect();
    let tokens = [UNKNOWN, "conf_x", "yes", turned.as_str()];
    for token in tokens.into_iter().filter(|token| !token.is_empty()) {
        let Some(exchange) = asked.with(run, token, cases).await else { continue };
        let Some(is_untouched) = asked.is_untouched(run, cases).await else { continue };
        let is_refused = exchange.code() == Some("TOKEN_INVALID");
        cases.expect(is_refused && is_untouched, || asked.finding(&exchange));
    }
}

pub(super) async fn alike(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let Some(unknown) = asked.with(run, UNKNOWN, cases).await else { return };
    let Some(malformed) = asked.with(run, "conf_", cases).await else { return };
    let reported = |exchange: &Exchange| {
        exchange.failure().map(|failure| (failure.code.to_owned(), failure.message.to_owned()))
    };
    cases.expect(
        reported(&unknown).is_some() && reported(&unknown) == reported(&malformed),
        || {
            asked.finding(&malformed).expected(format!(
                "the same failure as for an unknown token: {}",
                unknown.summary()
            ))
        },
    );
}

/// Returns the parts of a reply that a caller acts on: code, message and warnings.
fn outcome_of(exchange: &Exchange) -> (Option<String>, Option<String>, Value) {
    let failure = exchange.failure();
    let warnings = exchange.body().and_then(|body| body.get("warnings")).cloned();
    (
        failure.map(|failure| failure.code.to_owned()),
        failure.map(|failure| failure.message.to_owned()),
        warnings.unwrap_or_default(),
    )
}

pub(super) async fn misplaced(run: &Run, cases: &Cases) {
    for is_flat in [false, true] {
        let Some(asked) = ask(run, cases).await else { return };
        let Some(token) = asked.token(cases) else { return };
        let mut arguments = match is_flat {
            true => asked.params.clone(),
            false => Map::from_iter([("params".to_owned(), asked.params.clone().into())]),
        };
        arguments.insert("operation".to_owned(), asked.operation.name.as_str().into());
        arguments = confirmed(asked.operation, arguments, &token);
        let call = run.call_as(asked.operation, arguments.into(), cases).await;
        let Some(exchange) = call else { return };
        // After an identical reply, a caller would repeat the same mistake forever.
        let is_heard = exchange.succeeded() || outcome_of(&exchange) != outcome_of(&asked.exchange);
        cases.expect(is_heard, || {
            asked.finding(&exchange).expected(match is_flat {
                true => {
                    "the operation to run, or a reply that states where the token belongs: all \
                     parameters, including the token, are next to `operation`"
                }
                false => {
                    "the operation to run, or a reply that states where the token belongs: it is \
                     next to `params`"
                }
            })
        });
    }
}

/// Error codes of token failures.
const CODES: [&str; 4] =
    ["TOKEN_INVALID", "TOKEN_EXPIRED", "TOKEN_ALREADY_USED", "TOKEN_SCOPE_MISMATCH"];

pub(super) fn words(run: &Run, exchange: &Exchange, cases: &Cases) {
    let (Some(code), Some(operation)) =
        (exchange.code(), run.adapter.operation(exchange.operation()))
    else {
        return cases.not_applicable("no call failed with a token error");
    };
    if !code.starts_with("TOKEN_") {
        return cases.not_applicable("no call failed with a token error");
    }
    cases.expect(CODES.contains(&code), || {
        Finding::of(exchange, &operation.name).expected(format!("one of {}", CODES.join(", ")))
    });
}
