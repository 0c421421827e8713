//! Checks of confirmation requests and confirmation tokens.

use std::collections::BTreeSet;
use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use super::danger_levels::{DangerLevels, LEVELS, offers};
use super::{Body, Check, later, of_level_2 as check, should};
use crate::adapter::Operation;
use crate::call::Exchange;
use crate::cases::{Cases, Finding, Skip};
use crate::category::Category;
use crate::forms::{Form, INSTANT, may, must};
use crate::items::{CreatedItem, confirmed, token_of};
use crate::resources::{GatedOperation, GatedOperations, RESERVED};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[
    check(
        "confirmation.issued",
        "A confirmation request states operation, danger level, token and expiry",
        &["REQ-TOK-06"],
        Body::Changes(later!(issued)),
    ),
    check(
        "confirmation.token_form",
        "Tokens have the prefix, the characters and the length of the protocol",
        &["REQ-TOK-01"],
        Body::Changes(later!(token_form)),
    ),
    check(
        "confirmation.fresh",
        "Tokens cannot be guessed from each other",
        &["REQ-TOK-02"],
        Body::Changes(later!(fresh)),
    ),
    check(
        "confirmation.expiry",
        "Tokens expire within the protocol's limit",
        &["REQ-TOK-08"],
        Body::Changes(later!(expiry)),
    ),
    check(
        "confirmation.nothing_before",
        "An operation does not run before it is confirmed",
        &["REQ-GATE-01", "REQ-DNG-03"],
        Body::Changes(later!(nothing_before)),
    ),
    check(
        "confirmation.accepted",
        "A token confirms the call that it was issued for",
        &["REQ-TOK-07"],
        Body::Changes(later!(accepted)),
    ),
    should(check(
        "confirmation.single_use",
        "A token is valid for one call",
        &["REQ-TOK-10", "REQ-TOK-07"],
        Body::Changes(later!(single_use)),
    )),
    check(
        "confirmation.other_params",
        "A token is not valid for the same operation with other parameters",
        &["REQ-TOK-03", "REQ-TOK-07"],
        Body::Changes(later!(other_params)),
    ),
    check(
        "confirmation.other_operation",
        "A token is not valid for another operation",
        &["REQ-TOK-03", "REQ-TOK-07"],
        Body::Changes(later!(other_operation)),
    ),
    check(
        "confirmation.unknown_token",
        "Unknown and malformed tokens are rejected",
        &["REQ-TOK-07", "REQ-TOK-14"],
        Body::Changes(later!(unknown_token)),
    ),
    should(check(
        "confirmation.same_error",
        "Unknown and malformed tokens get the same error",
        &["REQ-TOK-15"],
        Body::Changes(later!(alike)),
    )),
    should(check(
        "confirmation.misplaced",
        "A misplaced token is accepted, or the reply states its place",
        &["REQ-RQ-03", "REQ-ERR-05"],
        Body::Changes(later!(misplaced)),
    )),
    check(
        "confirmation.codes",
        "Token failures have the codes of the protocol",
        &["REQ-TOK-07", "REQ-ERR-02"],
        Body::Every(words),
    ),
    should(check(
        "confirmation.not_needed",
        "READ operations do not require confirmation",
        &["REQ-DNG-02"],
        Body::Every(not_needed),
    )),
];

/// A well-formed token that the adapter has not issued.
const UNKNOWN: &str = "conf_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

/// A call that needs confirmation.
pub(super) struct PendingCall<'a> {
    thing: CreatedItem<'a>,
    pub(super) operation: &'a Operation,
    params: Map<String, Value>,
    /// The reply, which requests confirmation.
    pub(super) exchange: Exchange,
}

impl PendingCall<'_> {
    fn token(&self, cases: &Cases) -> Option<String> {
        let token = token_of(&self.exchange).map(str::to_owned);
        if token.is_none() {
            cases.skip(Skip::NoFixture(format!(
                "a token of `{}` in `details.confirmation_token`",
                self.operation.name
            )));
        }
        token
    }

    /// Repeats the call with this token.
    async fn with(&self, run: &Run, token: &str, cases: &Cases) -> Option<Exchange> {
        run.call(self.operation, confirmed(self.operation, self.params.clone(), token), cases).await
    }

    /// Whether the item still exists unchanged.
    async fn is_untouched(&self, run: &Run, cases: &Cases) -> Option<bool> {
        let looked = run.look(&self.thing, cases).await?;
        let object = |exchange: &Exchange| {
            exchange.data().and_then(|data| self.thing.resource.object(data)).cloned()
        };
        let (before, after) = (object(&self.thing.made), object(&looked));
        Some(after.is_some_and(|after| {
            let names = self.thing.resource.settable(run);
            names.iter().all(|name| {
                before.as_ref().and_then(|before| before.get(name)).unwrap_or(&Value::Null)
                    == after.get(name).unwrap_or(&Value::Null)
            })
        }))
    }

    fn finding(&self, exchange: &Exchange, expected: impl Into<String>, mend: &str) -> Finding {
        Finding::of(exchange, &self.operation.name, expected, mend)
    }
}

/// The parameters of an operation on a created item.
pub(super) fn params(
    run: &Run,
    operation: &Operation,
    thing: &CreatedItem<'_>,
) -> Option<Map<String, Value>> {
    let mut params = run.on(operation, thing.resource, &thing.id).ok()?;
    if operation.parameter("input").is_some() {
        let shown = thing.made.data().and_then(|data| thing.resource.object(data));
        let now = shown.cloned().unwrap_or_default();
        let input = thing.resource.changeable(run).into_iter().find_map(|field| {
            let value = field.other(now.get(field.name).unwrap_or(&Value::Null))?;
            Some(json!({ field.name: value }))
        });
        params.insert("input".to_owned(), input?);
    }
    Some(params)
}

/// Creates an item and makes a call that needs confirmation.
async fn asked_for<'r>(
    run: &'r Run,
    gated: &GatedOperation,
    cases: &Cases,
) -> Option<PendingCall<'r>> {
    let kind = run.resources().named(&gated.resource)?;
    let operation = run.adapter.operation(&gated.operation)?;
    let thing = run.make(kind, cases).await?;
    let params = params(run, operation, &thing)?;
    let exchange = run.call(operation, params.clone(), cases).await?;
    Some(PendingCall { thing, operation, params, exchange })
}

/// The operations on single items that require confirmation.
async fn gated(run: &Run) -> &[GatedOperation] {
    &all_gated(run).await.found
}

/// All operations that require confirmation, and the reason why the list may be incomplete. Calls every
/// permitted operation once to find out.
async fn all_gated(run: &Run) -> &GatedOperations {
    let found = run.resources().gated.get_or_init(|| async {
        let mut found = Vec::new();
        let unheard = Cases::default();
        for kind in run.resources().kinds() {
            let mut on_one: Vec<_> = run.resources().on_one(&run.adapter, kind).collect();
            // Operations that remove data are the most likely ones.
            on_one.sort_by_key(|operation| operation.category != Some(Category::Delete));
            for operation in on_one {
                if run.forbids(operation).is_some() {
                    continue;
                }
                let gated = GatedOperation {
                    resource: kind.name.clone(),
                    operation: operation.name.clone(),
                };
                let asked = asked_for(run, &gated, &unheard).await;
                if asked.is_some_and(|asked| asked.exchange.code() == Some("CONFIRMATION_REQUIRED"))
                {
                    found.push(gated);
                }
            }
        }
        let mut untried = unheard.results().skipped.into_keys().next();
        for operation in may_be_gated(run) {
            if !found.is_empty() || run.forbids(operation).is_some() {
                continue;
            }
            let unheard = Cases::default();
            if !run.was_let_run(&operation.name)
                && let Some(params) = run.to_run(operation, &unheard).await
            {
                run.call(operation, params, &unheard).await;
            }
            if !run.was_let_run(&operation.name) {
                untried.get_or_insert_with(|| {
                    Skip::NoFixture(format!(
                        "whether `{name}` requires confirmation: add its parameters under \
                         [params.{name}]",
                        name = operation.name
                    ))
                });
            }
        }
        GatedOperations { found, untried }
    });
    found.await
}

/// The operations that may require confirmation.
fn may_be_gated(run: &Run) -> impl Iterator<Item = &Operation> {
    run.adapter.operations.iter().filter(|operation| {
        operation.name != "introspect"
            && !operation.is_read()
            && !RESERVED.contains(&operation.name.as_str())
    })
}

/// Makes a call that is held until it is confirmed. Some adapters request one confirmation per session, and
/// other checks may have confirmed in this session.
async fn held<'r>(run: &'r Run, gated: &GatedOperation, cases: &Cases) -> Option<PendingCall<'r>> {
    let asked = asked_for(run, gated, cases).await?;
    if asked.exchange.succeeded() {
        cases.skip(Skip::NoFixture(format!(
            "a call that needs confirmation: `{}` was confirmed in this session and no longer needs it",
            asked.operation.name
        )));
        return None;
    }
    Some(asked)
}

/// Makes a call that requires confirmation. Otherwise skips the case with the reason.
pub(super) async fn ask<'r>(run: &'r Run, cases: &Cases) -> Option<PendingCall<'r>> {
    match gated(run).await.first() {
        Some(gated) => held(run, gated, cases).await,
        None => {
            none(run, cases).await;
            None
        }
    }
}

/// Records why no called operation required confirmation.
pub(super) async fn none(run: &Run, cases: &Cases) {
    let untried = all_gated(run).await.untried.clone();
    if let Some(operation) = run.asks() {
        return cases.skip(Skip::NoFixture(format!(
            "an operation that requires confirmation and acts on items that the run creates, unlike \
             `{operation}`"
        )));
    }
    let stated = DangerLevels::query(run).await;
    let says_so = |operation: &&Operation| stated.says_confirmed(operation);
    let is_claimed = run.adapter.capability("confirmation") == Some(true);
    let confirmed = run.adapter.operations.iter().find(says_so);
    // The report lists excluded operations beside the verdict.
    let mut forbidden = may_be_gated(run)
        .filter_map(|operation| run.forbids(operation))
        .filter(|why| !matches!(why, Skip::LeftOut(_)));
    match (forbidden.next(), confirmed) {
        (Some(why), _)
            if is_claimed || confirmed.is_some() || !offers(run, "danger") =>
        {
            cases.skip(why);
        }
        (_, Some(operation)) => cases.skip(Skip::NoFixture(format!(
            "an operation that requires confirmation and acts on items that the run creates, unlike `{}`",
            operation.name
        ))),
        _ if is_claimed => cases.skip(Skip::NoFixture(
            "an operation that requires confirmation and acts on items that the run creates".to_owned(),
        )),
        // If the adapter documents for each operation that it runs without confirmation, that is its
        // design.
        _ => match untried.filter(|_| !offers(run, "danger")) {
            Some(why) => cases.skip(why),
            None => cases.not_applicable("no operation requires confirmation"),
        },
    }
}

async fn issued(run: &Run, cases: &Cases) {
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
    DETAILS.check(&details, cases, |expected| {
        asked.finding(
            &asked.exchange,
            format!("`error.details` of this form: {expected}"),
            "state the operation, its danger level, the token and its expiry",
        )
    });
    cases.expect(
        details.get("operation").is_none_or(|named| *named == asked.operation.name.as_str()),
        || {
            asked.finding(
                &asked.exchange,
                format!("`details.operation` \"{}\"", asked.operation.name),
                "name the operation that needs confirmation",
            )
        },
    );
}

async fn token_form(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let Some(token) = asked.token(cases) else { return };
    let body = token.strip_prefix("conf_");
    let is_plain = |body: &str| {
        (1..=64).contains(&body.len())
            && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let holds = (8..=80).contains(&token.len()) && body.is_some_and(is_plain);
    cases.expect(holds, || {
        asked.finding(
            &asked.exchange,
            "a token of `conf_` and 1 to 64 letters, digits, `_` or `-`, with 8 to 80 characters in all",
            "use the token format of the protocol: clients check it before they send tokens",
        )
    });
}

async fn fresh(run: &Run, cases: &Cases) {
    const TOKENS: usize = 5;
    let Some(asked) = ask(run, cases).await else { return };
    let mut tokens: Vec<_> = asked.token(cases).into_iter().collect();
    while tokens.len() < TOKENS {
        let again = run.call(asked.operation, asked.params.clone(), cases).await;
        let Some(token) = again.as_ref().and_then(token_of) else { break };
        tokens.push(token.to_owned());
    }
    if tokens.len() < TOKENS {
        return cases.skip(Skip::NoFixture(format!("{TOKENS} tokens to compare")));
    }
    let bodies: Vec<_> = tokens.iter().map(|token| token.trim_start_matches("conf_")).collect();
    let distinct = bodies.iter().collect::<BTreeSet<_>>().len() == bodies.len();
    // 128 bits take 22 characters of base64 or 32 hexadecimal digits.
    let is_hexadecimal =
        bodies.iter().all(|body| body.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'));
    let least = if is_hexadecimal { 32 } else { 22 };
    let length = |body: &str| body.bytes().filter(|byte| *byte != b'-' || !is_hexadecimal).count();
    let is_long = bodies.iter().all(|body| length(body) >= least);
    // Random texts rarely have equal characters in the same place.
    let is_apart = bodies.windows(2).all(|pair| {
        let (Some(one), Some(other)) = (pair.first(), pair.last()) else { return true };
        let alike = one.bytes().zip(other.bytes()).filter(|(one, other)| one == other).count();
        alike * 2 < one.len().max(1)
    });
    cases.expect(distinct && is_long && is_apart, || Finding {
        received: json!(tokens),
        ..asked.finding(
            &asked.exchange,
            "tokens with 128 random bits or more each, no two of them alike",
            "generate tokens with the system's random generator, not from counters, times or hashes of known values",
        )
    });
}

async fn expiry(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let details =
        asked.exchange.failure().map(|failure| failure.details.clone()).unwrap_or_default();
    let expires_at = details.get("expires_at").and_then(Value::as_str);
    let Some(expires_at) = expires_at.and_then(|text| DateTime::parse_from_rfc3339(text).ok())
    else {
        return cases.skip(Skip::NoFixture("a token with `expires_at`".to_owned()));
    };
    let is_forbidden = details.get("danger_level").is_some_and(|level| level == "forbidden");
    let most = TimeDelta::minutes(if is_forbidden { 5 } else { 15 });
    // The allowed difference between the two clocks.
    let skew = TimeDelta::seconds(90);
    let left = expires_at.with_timezone(&Utc) - DateTime::<Utc>::from(SystemTime::now());
    cases.expect(left > -skew && left <= most + skew, || {
        asked.finding(
            &asked.exchange,
            format!("`expires_at` within {} minutes from now", most.num_minutes()),
            "let tokens expire after 5 minutes (2 for forbidden operations), and after at most 15 (5)",
        )
    });
}

async fn nothing_before(run: &Run, cases: &Cases) {
    for gated in gated(run).await {
        let Some(asked) = held(run, gated, cases).await else { continue };
        let Some(is_untouched) = asked.is_untouched(run, cases).await else { continue };
        cases.expect(is_untouched, || {
            asked.finding(
                &asked.exchange,
                format!(
                    "the {} unchanged, because the call is not confirmed yet",
                    asked.thing.resource.name
                ),
                "request confirmation before the operation runs",
            )
        });
    }
    if gated(run).await.is_empty() {
        none(run, cases).await;
    }
}

async fn accepted(run: &Run, cases: &Cases) {
    for gated in gated(run).await {
        let Some(asked) = held(run, gated, cases).await else { continue };
        let Some(token) = asked.token(cases) else { continue };
        let Some(exchange) = asked.with(run, &token, cases).await else { continue };
        let waits = exchange.failure().is_some_and(|failure| {
            failure.details.get("not_before").is_some()
                || failure.details.get("cooldown_seconds").is_some()
        });
        if waits {
            cases.skip(Skip::NoFixture(format!(
                "the waiting time that `{}` requires",
                asked.operation.name
            )));
            continue;
        }
        cases.expect(exchange.succeeded(), || {
            asked.finding(
                &exchange,
                "a success, because it is the same call with its token in `params._confirmation`",
                "accept the token for the parameters that it was issued for, compared without `_confirmation`",
            )
        });
    }
    if gated(run).await.is_empty() {
        none(run, cases).await;
    }
}

async fn single_use(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let Some(token) = asked.token(cases) else { return };
    let Some(first) = asked.with(run, &token, cases).await else { return };
    if !first.succeeded() {
        return cases
            .skip(Skip::NoFixture(format!("a token that `{}` accepts", asked.operation.name)));
    }
    let Some(again) = asked.with(run, &token, cases).await else { return };
    cases.expect(again.code().is_some_and(|code| code.starts_with("TOKEN_")), || {
        asked.finding(
            &again,
            "a failure TOKEN_ALREADY_USED: the token was used before",
            "mark a token as used before the operation runs, and check that mark first",
        )
    });
}

async fn other_params(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let Some(token) = asked.token(cases) else { return };
    let Some(other) = run.make_another(&asked.thing, cases).await else { return };
    let Some(params) = params(run, asked.operation, &other) else { return };
    let theirs = confirmed(asked.operation, params.clone(), &token);
    let Some(exchange) = run.call(asked.operation, theirs, cases).await else { return };
    let other = PendingCall { thing: other, params, exchange, ..asked };
    let Some(is_untouched) = other.is_untouched(run, cases).await else { return };
    cases.expect(is_untouched && other.exchange.code() == Some("TOKEN_SCOPE_MISMATCH"), || {
        other.finding(
            &other.exchange,
            format!("a failure TOKEN_SCOPE_MISMATCH, and this {} unchanged, because the token is for another", other.thing.resource.name),
            "bind a token to the parameters that identify the affected data, and compare them when it is used",
        )
    });
}

async fn other_operation(run: &Run, cases: &Cases) {
    let all = gated(run).await;
    let Some(first) = all.first() else { return none(run, cases).await };
    let others: Vec<_> = all.iter().skip(1).collect();
    if others.is_empty() {
        let stated = DangerLevels::query(run).await;
        // Operations that do not act on the run's items need configured parameters.
        let configured = run.adapter.operations.iter().filter_map(|operation| {
            let params = run.settings.file.params.get(&operation.name)?;
            let is_other = operation.name != first.operation && !operation.is_read();
            (is_other && stated.says_confirmed(operation)).then_some((operation, params))
        });
        let mut is_tried = false;
        for (operation, params) in configured {
            is_tried = true;
            let Some(asked) = held(run, first, cases).await else { continue };
            let Some(token) = asked.token(cases) else { continue };
            let params = confirmed(operation, params.clone(), &token);
            let Some(exchange) = run.call(operation, params, cases).await else { continue };
            cases.expect(exchange.code() == Some("TOKEN_SCOPE_MISMATCH"), || {
                Finding::of(
                    &exchange,
                    &operation.name,
                    format!(
                        "a failure TOKEN_SCOPE_MISMATCH: the token is for `{}`",
                        asked.operation.name
                    ),
                    "bind a token to its operation",
                )
            });
        }
        if is_tried {
            return;
        }
        let mut untried = run.adapter.operations.iter().filter(|operation| {
            operation.name != first.operation
                && (stated.says_confirmed(operation)
                    || run.resources().kinds().iter().any(|kind| {
                        run.forbids(operation).is_some()
                            && run
                                .resources()
                                .on_one(&run.adapter, kind)
                                .any(|other| other.name == operation.name)
                    }))
        });
        return match untried.next() {
            Some(operation) => cases.skip(run.forbids(operation).unwrap_or_else(|| {
                Skip::NoFixture(format!(
                    "a second operation that requires confirmation and acts on items that the run creates, unlike `{}`",
                    operation.name
                ))
            })),
            None => cases.not_applicable(
                "only one operation requires confirmation",
            ),
        };
    }
    for other in others {
        let Some(asked) = held(run, first, cases).await else { continue };
        let Some(token) = asked.token(cases) else { continue };
        let Some(other) = held(run, other, cases).await else { continue };
        let Some(exchange) = other.with(run, &token, cases).await else { continue };
        let Some(is_untouched) = other.is_untouched(run, cases).await else { continue };
        cases.expect(is_untouched && exchange.code() == Some("TOKEN_SCOPE_MISMATCH"), || {
            other.finding(
                &exchange,
                format!(
                    "a failure TOKEN_SCOPE_MISMATCH, and no change, because the token is for `{}`",
                    asked.operation.name
                ),
                "bind a token to its operation",
            )
        });
    }
}

async fn unknown_token(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    // The last token is a valid one with one changed character.
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
        cases.expect(is_refused && is_untouched, || {
            asked.finding(
                &exchange,
                "a failure TOKEN_INVALID and no change, because this token was never issued",
                "accept only issued tokens, unchanged",
            )
        });
    }
}

async fn alike(run: &Run, cases: &Cases) {
    let Some(asked) = ask(run, cases).await else { return };
    let Some(unknown) = asked.with(run, UNKNOWN, cases).await else { return };
    let Some(malformed) = asked.with(run, "conf_", cases).await else { return };
    let reported = |exchange: &Exchange| {
        exchange.failure().map(|failure| (failure.code.to_owned(), failure.message.to_owned()))
    };
    cases.expect(reported(&unknown).is_some() && reported(&unknown) == reported(&malformed), || {
        asked.finding(
            &malformed,
            format!("the same failure as for an unknown token: {}", unknown.summary()),
            "return the same error for unknown and malformed tokens: a difference reveals the form of valid ones",
        )
    });
}

/// The parts of a reply that a caller acts on: code, message and warnings.
fn outcome_of(exchange: &Exchange) -> (Option<String>, Option<String>, Value) {
    let failure = exchange.failure();
    let warnings = exchange.body().and_then(|body| body.get("warnings")).cloned();
    (
        failure.map(|failure| failure.code.to_owned()),
        failure.map(|failure| failure.message.to_owned()),
        warnings.unwrap_or_default(),
    )
}

async fn misplaced(run: &Run, cases: &Cases) {
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
        // An identical reply would make a caller repeat the mistake forever.
        let is_heard = exchange.succeeded() || outcome_of(&exchange) != outcome_of(&asked.exchange);
        cases.expect(is_heard, || {
            asked.finding(
                &exchange,
                match is_flat {
                    true => "the operation to run, or a reply that states the token's place: all \
                             parameters stand beside `operation`, the token too",
                    false => "the operation to run, or a reply that states the token's place: it \
                              stands beside `params`",
                },
                "accept `_confirmation` in `params` and beside `operation`, or report that it is in the \
                 wrong place",
            )
        });
    }
}

/// The codes of token failures.
const CODES: [&str; 4] =
    ["TOKEN_INVALID", "TOKEN_EXPIRED", "TOKEN_ALREADY_USED", "TOKEN_SCOPE_MISMATCH"];

fn words(run: &Run, exchange: &Exchange, cases: &Cases) {
    let (Some(code), Some(operation)) =
        (exchange.code(), run.adapter.operation(exchange.operation()))
    else {
        return cases.not_applicable("no call failed with a token error");
    };
    if !code.starts_with("TOKEN_") {
        return cases.not_applicable("no call failed with a token error");
    }
    cases.expect(CODES.contains(&code), || {
        Finding::of(
            exchange,
            &operation.name,
            format!("one of {}", CODES.join(", ")),
            "use the protocol's codes for token failures",
        )
    });
}

fn not_needed(run: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(operation) = run.adapter.operation(exchange.operation()) else { return };
    if !operation.is_read() || exchange.body().is_none() {
        return;
    }
    cases.expect(exchange.code() != Some("CONFIRMATION_REQUIRED"), || {
        Finding::of(
            exchange,
            &operation.name,
            "a reply without confirmation, because READ operations are safe",
            "require confirmation for changes, not for READ operations",
        )
    });
}
