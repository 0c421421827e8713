//! Checks that invalid text is rejected.

use serde_json::{Value, json};

use super::free_texts;
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding, Skip};
use crate::run::Run;
use crate::wire::{Connection, NoResponse};

pub(super) async fn nul(run: &Run, cases: &Cases) {
    let refuses = |exchange: &Exchange, parameter: &str| {
        let is_refused = exchange.code() == Some("VALIDATION_INVALID_ENCODING");
        cases.expect(is_refused, || {
            Finding::of(
                exchange,
                format!("{}: `{parameter}`", exchange.operation()),
                "a failure VALIDATION_INVALID_ENCODING",
                "check all text of a request for U+0000 before any other processing: C strings end at \
                 U+0000",
            )
        });
    };
    // Every adapter has this operation.
    let exchange = run.introspect(json!({ "query": "operations", "name": "a\u{0}b" })).await;
    if exchange.no_response().is_none() {
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

/// Bytes that are not valid text, and a description of them.
type InvalidText = (&'static [u8], &'static str);

/// The part of a message that is replaced by invalid text.
const PLACE: &str = "conformance-probe";
const EXPECTED: &str =
    "a failure VALIDATION_INVALID_ENCODING, or a JSON-RPC error if the transport cannot decode it";

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

/// Sends requests that must not succeed, each on a connection of its own.
async fn send_all_invalid(run: &Run, all: &[InvalidText], cases: &Cases) {
    match run.spare().await {
        Ok(connection) => {
            for broken in all {
                send_invalid(run, &connection, broken, cases).await;
            }
            run.give_back(connection);
        }
        Err(lost) => cases.skip(Skip::CutShort(lost.to_string())),
    }
}

/// Sends one invalid request, and expects a rejection.
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
        // A message without an id cannot be assigned to a request: the request was rejected or ignored.
        // An HTTP server may reject the request before it parses it.
        Ok(None | Some(Reply::NoResponse(NoResponse::Status(400..=499)))) => return cases.pass(),
        Ok(Some(Reply::NoResponse(lost))) | Err(lost) => return ended(&lost, bytes, what, cases),
        Ok(Some(reply)) => reply,
    };
    let exchange = Exchange { tool: run.adapter.introspect.clone(), arguments: call, reply };
    let is_refused = matches!(exchange.reply, Reply::Protocol { .. })
        || exchange.code() == Some("VALIDATION_INVALID_ENCODING");
    cases.expect(is_refused, || Finding {
        sent: sent(bytes, what),
        ..Finding::of(
            &exchange,
            "introspect: `name`",
            EXPECTED,
            "decode strictly: replacing invalid bytes changes the client's text",
        )
    });
}

/// Sends a call with these bytes instead of `PLACE`, and a valid call after it. Returns the reply to the
/// first one, `None` if only the second one is answered, which happens if the adapter cannot read the id of
/// the first, or the reason why none is answered.
async fn reply_to_invalid(
    run: &Run,
    connection: &Connection,
    call: &Value,
    bytes: &[u8],
) -> Result<Option<Reply>, NoResponse> {
    let (id, tool) = (json!(connection.next_id()), &run.adapter.introspect);
    let message = json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": tool, "arguments": call },
    });
    let text = message.to_string();
    let (before, after) = text.split_once(PLACE).unwrap_or_default();
    let message = [before.as_bytes(), bytes, after.as_bytes()].concat();
    let behind = async {
        let valid = json!({ "operation": "introspect", "params": {
            "query": "operations", "name": "conformance_probe",
        }});
        let answer = run.send_on(connection, tool, valid).await;
        // The adapter has had time to answer the first request.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        answer
    };
    let first = connection.exchange(&id, message, run.settings.limits.request);
    tokio::pin!(first, behind);
    tokio::select! {
        biased;
        answer = &mut first => Ok(Some(Reply::from(answer))),
        next = &mut behind => match next.no_response() {
            Some(lost) => Err(lost.clone()),
            None => Ok(None),
        },
    }
}

/// The sent request, in the form that findings report.
fn sent(bytes: &[u8], what: &str) -> Value {
    json!(format!("introspect, with {what} in `name`: {}", bytes.escape_ascii()))
}

/// Reports a missing reply if the adapter terminated because of the request.
fn ended(lost: &NoResponse, bytes: &[u8], what: &str, cases: &Cases) {
    if !matches!(lost, NoResponse::Closed(_)) {
        return cases.skip(Skip::CutShort(lost.to_string()));
    }
    cases.fail(Finding {
        sent: sent(bytes, what),
        ..Finding::shown(
            "introspect: `name`",
            lost.to_string(),
            EXPECTED,
            "reject invalid text and continue: one invalid message must not terminate the adapter",
        )
    });
}
