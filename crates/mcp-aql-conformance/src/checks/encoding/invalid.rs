//! Checks that requests with invalid character encoding are rejected.

use std::time::Duration;

use serde_json::{Value, json};

use super::free_texts;
use crate::budget::RateLimit;
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding, Skip};
use crate::checks::wire;
use crate::run::Run;
use crate::wire::{Answer, Connection, NoResponse};

pub(super) async fn nul(run: &Run, cases: &Cases) {
    let refuses = |exchange: &Exchange, parameter: &str| {
        let is_refused = exchange.code() == Some("VALIDATION_INVALID_ENCODING");
        cases.expect(is_refused, || {
            Finding::of(exchange, format!("{}: `{parameter}`", exchange.operation()))
        });
    };
    // Every adapter has `introspect`.
    let query = json!({ "query": "operations", "name": "a\u{0}b" });
    if let Some(exchange) = run.introspect(query, cases).await {
        refuses(&exchange, "name");
    }
    for (operation, parameter) in free_texts(run) {
        let Some(mut params) = cases.ok_or_skip(run.with_missing_ids(operation)) else { continue };
        params.insert(parameter.name.clone(), json!("conformance\u{0}probe"));
        if let Some(exchange) = run.refused_call(operation, params, cases).await {
            refuses(&exchange, &parameter.name);
        }
    }
}

/// Bytes of invalid UTF-8 or JSON, and a description of them.
type InvalidText = (&'static [u8], &'static str);

/// Marks the position of the invalid bytes in a request. They replace this string.
const PLACE: &str = "conformance-probe";
/// Time to wait for the reply to an invalid request after the next request was answered.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);

const NO_UTF8: [InvalidText; 5] = [
    (b"\xc0\xaf", "an overlong encoding of a slash"),
    (b"a\x80", "a lone continuation byte"),
    (b"\xe2\x82", "a truncated character"),
    (b"\xed\xa0\x80", "half a surrogate pair, in UTF-8"),
    (b"\xf4\x90\x80\x80", "a character beyond U+10FFFF"),
];

const SURROGATES: [InvalidText; 3] = [
    (br"\ud800", "a high surrogate at the end"),
    (br"\udc00", "a low surrogate at the beginning"),
    (br"\ud800\ud800", "two high surrogates"),
];

pub(super) async fn invalid_utf8(run: &Run, cases: &Cases) {
    send_all_invalid(run, &NO_UTF8, cases).await;
}

pub(super) async fn lone_surrogate(run: &Run, cases: &Cases) {
    send_all_invalid(run, &SURROGATES, cases).await;
}

/// Sends invalid requests on a spare connection, because the adapter may close it.
async fn send_all_invalid(run: &Run, all: &[InvalidText], cases: &Cases) {
    let Some(connection) = run.spare(cases).await else { return };
    for broken in all {
        send_invalid(run, &connection, broken, cases).await;
    }
    run.give_back(connection);
}

/// Sends one invalid request and expects a rejection.
async fn send_invalid(
    run: &Run,
    connection: &Connection,
    (bytes, what): &InvalidText,
    cases: &Cases,
) {
    let call = json!({
        "operation": "introspect",
        "params": { "query": "operations", "name": PLACE },
    });
    let reply = match reply_to_invalid(run, connection, &call, bytes).await {
        Ok(None) => {
            run.note_unreadable(&sent(bytes, what), false);
            return cases.block(wire::UNREADABLE, wire::NO_REPLY);
        }
        // An HTTP server may reject the request before it parses the body.
        Ok(Some(Reply::NoResponse(NoResponse::Status(400..=499)))) => {
            run.note_unreadable(&sent(bytes, what), true);
            return cases.pass();
        }
        Ok(Some(Reply::NoResponse(lost))) | Err(lost) => return ended(&lost, bytes, what, cases),
        Ok(Some(reply)) => reply,
    };
    run.note_unreadable(&sent(bytes, what), true);
    let exchange = Exchange { tool: run.adapter.introspect.clone(), arguments: call, reply };
    let is_refused = matches!(exchange.reply, Reply::Protocol { .. })
        || exchange.code() == Some("VALIDATION_INVALID_ENCODING");
    cases.expect(is_refused, || {
        Finding::of(&exchange, "introspect: `name`").sent(json!(sent(bytes, what)))
    });
}

/// Sends a call with `bytes` instead of `PLACE`, followed by a valid call. Repeats both while a rate limit rejects
/// them.
///
/// Returns the reply to the first call. It may be an error without an id, because the adapter may be unable to read the
/// id. Returns `None` if only the second call is answered.
///
/// # Errors
///
/// Returns the reason if neither call is answered.
async fn reply_to_invalid(
    run: &Run,
    connection: &Connection,
    call: &Value,
    bytes: &[u8],
) -> Result<Option<Reply>, NoResponse> {
    let mut waited = Duration::ZERO;
    loop {
        run.pacer.turn().await;
        let answer = send_both(run, connection, call, bytes).await?;
        let Some(limit) = answer.as_ref().and_then(RateLimit::of_answer) else {
            return Ok(answer.map(Reply::from));
        };
        if !run.pacer.wait_to_repeat(limit, &mut waited).await {
            return Ok(answer.map(Reply::from));
        }
    }
}

async fn send_both(
    run: &Run,
    connection: &Connection,
    call: &Value,
    bytes: &[u8],
) -> Result<Option<Answer>, NoResponse> {
    let (id, tool) = (json!(connection.next_id()), &run.adapter.introspect);
    let message = json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": tool, "arguments": call },
    });
    let text = message.to_string();
    let (before, after) = text.split_once(PLACE).unwrap_or_default();
    let message = [before.as_bytes(), bytes, after.as_bytes()].concat();
    let behind = async {
        let valid = json!({ "query": "operations", "name": "conformance_probe" });
        let answer = run.introspect_on(connection, valid).await;
        tokio::time::sleep(REPLY_TIMEOUT).await;
        answer
    };
    let first = connection.exchange(&id, message, run.settings.limits.request);
    tokio::pin!(first, behind);
    tokio::select! {
        biased;
        answer = &mut first => Ok(Some(answer)),
        next = &mut behind => match next.no_response() {
            Some(lost) => Err(lost.clone()),
            None => Ok(None),
        },
    }
}

/// Describes the sent request for findings.
fn sent(bytes: &[u8], what: &str) -> String {
    format!("introspect, with {what} in `name`: {}", bytes.escape_ascii())
}

/// Reports a missing reply if the adapter terminated because of the request.
fn ended(lost: &NoResponse, bytes: &[u8], what: &str, cases: &Cases) {
    if !matches!(lost, NoResponse::Closed(_)) {
        return cases.skip(Skip::CutShort(lost.to_string()));
    }
    let fix = "reject the message and continue: one message with an invalid encoding must not \
               terminate the adapter";
    let finding = Finding::shown("introspect: `name`", lost.to_string()).fix(fix);
    cases.fail(finding.sent(json!(sent(bytes, what))));
}
