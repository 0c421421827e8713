//! Checks of text encoding: invalid text is rejected, and valid text is stored unchanged.

use serde_json::{Map, Value, json};

use super::{Body, Check, later, of_level_1 as check, of_level_2, should};
use crate::adapter::{Operation, Parameter};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding, Skip};
use crate::category::Category;
use crate::nouns::is_identifier;
use crate::resources::RESERVED;
use crate::run::{Run, arguments};
use crate::shape::Shape;
use crate::wire::{Connection, NoResponse};

pub(super) const CHECKS: &[Check] = &[
    should(check(
        "encoding.nul",
        "U+0000 in text is rejected with VALIDATION_INVALID_ENCODING",
        &["REQ-ENC-02"],
        Body::Reads(later!(nul)),
    )),
    check(
        "encoding.invalid_utf8",
        "Invalid UTF-8 is rejected",
        &["REQ-ENC-01"],
        Body::Alone(later!(invalid_utf8)),
    ),
    check(
        "encoding.lone_surrogate",
        "A lone surrogate is rejected",
        &["REQ-ENC-01"],
        Body::Alone(later!(lone_surrogate)),
    ),
    check(
        "encoding.unicode",
        "Text of every script is accepted",
        &["REQ-ENC-01"],
        Body::Reads(later!(unicode)),
    ),
    of_level_2(
        "encoding.round_trip",
        "Text of every script is returned unchanged",
        &["REQ-ENC-01", "REQ-CNF-13"],
        Body::Changes(later!(round_trip)),
    ),
    check(
        "encoding.binary",
        "Bytes in results are padded base64 with a MIME type",
        &["REQ-ENC-06"],
        Body::Every(binary),
    ),
];

/// Texts that programs often reject, truncate or normalize.
const TEXTS: [(&str, &str); 6] = [
    ("letters of many scripts", "Ελληνικά кириллица 漢字かな 한국어 ไทย हिन्दी"),
    ("right to left", "שלום عليكم \u{200f}(mixed) abc"),
    ("composed and decomposed", "\u{e9}t\u{e9} e\u{301}te\u{301} \u{fb01}"),
    ("beyond the basic plane", "🌱🏡👩\u{200d}🌾 𝒳 \u{10ffff}"),
    ("unusual spaces and line ends", "a\u{a0}b\u{2028}c\u{200b}d\u{feff}e"),
    (
        "characters with a meaning in other formats",
        "<b>&amp; \"quoted\" 'too' \\ / %20 ${x} {{y}} ;--",
    ),
];

/// Whether a parameter accepts any text.
pub(super) fn is_free(run: &Run, parameter: &Parameter) -> bool {
    ["enum", "pattern", "format"].iter().all(|member| parameter.member(member).is_none())
        && parameter.kind == "string"
        && Shape::of(&run.adapter, parameter).words().is_none()
}

/// The free-text parameters of operations that change nothing.
fn free_texts(run: &Run) -> impl Iterator<Item = (&Operation, &Parameter)> {
    let parameters = |operation| {
        let operation: &Operation = operation;
        operation.parameters.iter().map(move |parameter| (operation, parameter))
    };
    run.adapter.reads().flat_map(parameters).filter(|(_, parameter)| is_free(run, parameter))
}

async fn nul(run: &Run, cases: &Cases) {
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
        let call = arguments(&operation.name, params);
        if let Some(exchange) = run.refused(&operation.tool, call, cases).await {
            refuses(&exchange, &parameter.name);
        }
    }
}

/// Bytes that are not valid text, and a description of them.
type InvalidText = (&'static [u8], &'static str);

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

async fn invalid_utf8(run: &Run, cases: &Cases) {
    send_all_invalid(run, &NO_UTF8, cases).await;
}

async fn lone_surrogate(run: &Run, cases: &Cases) {
    send_all_invalid(run, &SURROGATES, cases).await;
}

/// Sends requests that must not succeed, each on a connection of its own.
async fn send_all_invalid(run: &Run, all: &[InvalidText], cases: &Cases) {
    match run.open().await {
        Ok(connection) => {
            for broken in all {
                send_invalid(run, &connection, broken, cases).await;
            }
            connection.close().await;
        }
        Err(lost) => cases.skip(Skip::CutShort(lost.to_string())),
    }
}

/// Sends one invalid request and a valid one after it. If the adapter cannot read the id of the first, it
/// only answers the second.
async fn send_invalid(
    run: &Run,
    connection: &Connection,
    (bytes, what): &InvalidText,
    cases: &Cases,
) {
    const PLACE: &str = "conformance-probe";
    let (id, tool) = (connection.next_id(), run.adapter.introspect.clone());
    let call = json!({
        "operation": "introspect",
        "params": { "query": "operations", "name": PLACE },
    });
    let message = json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": tool, "arguments": call },
    });
    let text = message.to_string();
    let Some((before, after)) = text.split_once(PLACE) else { return };
    let message = [before.as_bytes(), bytes, after.as_bytes()].concat();
    let limit = run.settings.limits.request;
    let behind = async {
        let answer = run
            .send_on(
                connection,
                &tool,
                json!({ "operation": "introspect", "params": {
                    "query": "operations", "name": "conformance_probe",
                }}),
            )
            .await;
        // The adapter has had time to answer the first request.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        answer
    };
    let id = json!(id);
    let first = connection.exchange(&id, message, limit);
    tokio::pin!(first, behind);
    let reply = tokio::select! {
        biased;
        answer = &mut first => Some(Reply::from(answer)),
        next = &mut behind => match next.no_response() {
            Some(lost) => return ended(lost, bytes, what, cases),
            None => None,
        },
    };
    let Some(reply) = reply else {
        // A message without an id cannot be assigned to a request: the request was rejected or ignored.
        return cases.pass();
    };
    let exchange = Exchange { tool: tool.clone(), arguments: call, reply };
    if let Some(lost) = exchange.no_response() {
        // An HTTP server may reject the request before it parses it.
        if matches!(lost, NoResponse::Status(400..=499)) {
            return cases.pass();
        }
        return ended(lost, bytes, what, cases);
    }
    let is_refused = matches!(exchange.reply, Reply::Protocol { .. })
        || exchange.code() == Some("VALIDATION_INVALID_ENCODING");
    cases.expect(is_refused, || Finding {
        sent: json!(format!("introspect, with {what} in `name`: {}", bytes.escape_ascii())),
        ..Finding::of(
            &exchange,
            "introspect: `name`",
                "a failure VALIDATION_INVALID_ENCODING, or a JSON-RPC error if the transport cannot decode \
                 it",
            "decode strictly: replacing invalid bytes changes the client's text",
        )
    });
}

/// Reports a missing reply if the adapter terminated because of the request.
fn ended(lost: &NoResponse, bytes: &[u8], what: &str, cases: &Cases) {
    if !matches!(lost, NoResponse::Closed(_)) {
        return cases.skip(Skip::CutShort(lost.to_string()));
    }
    cases.fail(Finding {
        sent: json!(format!("introspect, with {what} in `name`: {}", bytes.escape_ascii())),
        ..Finding::shown(
            "introspect: `name`",
            lost.to_string(),
            "a failure VALIDATION_INVALID_ENCODING, or a JSON-RPC error if the transport cannot decode \
             it",
            "reject invalid text and continue: one invalid message must not terminate the adapter",
        )
    });
}

async fn unicode(run: &Run, cases: &Cases) {
    for (what, text) in TEXTS {
        let exchange = run.introspect(json!({ "query": "operations", "name": text })).await;
        if exchange.no_response().is_none() {
            is_taken(&exchange, "name", what, cases);
        }
    }
    for (place, (operation, parameter)) in free_texts(run).enumerate() {
        // Every text is tried in some parameter, and every parameter gets one text.
        let Some((what, text)) = TEXTS.get(place % TEXTS.len()) else { return };
        let Some(params) = with_text(run, operation, parameter, text, cases) else { continue };
        if let Some(exchange) = run.call(operation, params, cases).await {
            is_taken(&exchange, &parameter.name, what, cases);
        }
    }
}

/// The first characters of a text without trailing spaces, which an adapter may trim.
fn beginning(text: &str, most: usize) -> String {
    text.chars().take(most).collect::<String>().trim_end().to_owned()
}

/// Valid parameters with a text in one of them, if that parameter accepts the text.
fn with_text(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
    text: &str,
    cases: &Cases,
) -> Option<Map<String, Value>> {
    let shape = Shape::of(&run.adapter, parameter);
    let most = parameter.member("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX);
    let text = Value::from(beginning(text, usize::try_from(most).unwrap_or(usize::MAX)));
    if !shape.accepts(&text) {
        return None;
    }
    // The named item does not need to exist.
    let found = run.valid(operation).or_else(|_| run.with_missing_ids(operation));
    let mut params = cases.ok_or_skip(found)?;
    params.insert(parameter.name.clone(), text);
    Some(params)
}

/// Whether a call failed because of the text in it.
fn is_text_refused(exchange: &Exchange) -> bool {
    let code = exchange.code();
    code == Some("VALIDATION_INVALID_ENCODING")
        || code == Some("INTERNAL_ERROR")
        || matches!(exchange.reply, Reply::Protocol { .. })
}

/// Reports text that introspection rejects. The named operation does not need to exist.
fn is_taken(exchange: &Exchange, parameter: &str, what: &str, cases: &Cases) {
    cases.expect(!is_text_refused(exchange), || {
        Finding::of(
            exchange,
            format!("{}: `{parameter}`", exchange.operation()),
            format!("a reply to text with {what}, which is valid UTF-8"),
            "accept every character except U+0000, and use UTF-8 everywhere",
        )
    });
}

/// Compares text in created items with the submitted text.
async fn round_trip(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for operation in run.adapter.of(Category::Create) {
        // Operations of the protocol do more than store their parameters.
        if RESERVED.contains(&operation.name.as_str()) {
            continue;
        }
        let Some(parameter) = operation
            .parameters
            .iter()
            .find(|parameter| is_free(run, parameter) && !is_identifier(&parameter.name))
        else {
            continue;
        };
        is_any = true;
        for (what, text) in TEXTS {
            create_with(run, operation, parameter, (what, text), cases).await;
        }
    }
    if !is_any {
        cases.not_applicable("no CREATE operation has parameters for free text");
    }
}

async fn create_with(
    run: &Run,
    operation: &Operation,
    parameter: &Parameter,
    (what, text): (&str, &str),
    cases: &Cases,
) {
    let Some(params) = with_text(run, operation, parameter, text, cases) else { return };
    let sent = params.get(&parameter.name).cloned().unwrap_or_default();
    let Some(exchange) = run.call(operation, params, cases).await else { return };
    let Some(data) = exchange.data() else {
        // Other checks report whether the item can be created at all.
        if is_text_refused(&exchange) {
            return is_taken(&exchange, &parameter.name, what, cases);
        }
        return cases.skip(Skip::NoFixture(format!(
            "`{}` created nothing: add parameters that it accepts under [params.{}]",
            operation.name, operation.name
        )));
    };
    let Some(shown) = find(data, &parameter.name) else {
        return cases.skip(Skip::NoFixture(format!(
            "`{}` does not return `{}` of the created item",
            operation.name, parameter.name
        )));
    };
    cases.expect(*shown == sent, || {
        Finding::of(
            &exchange,
            format!("{}: `{}`", operation.name, parameter.name),
            format!("`{}` unchanged, with {what}", parameter.name),
            "store text unchanged: do not normalize, escape or replace characters",
        )
    });
}

/// Finds a member of this name at any depth.
fn find<'a>(data: &'a Value, name: &str) -> Option<&'a Value> {
    let members = data.as_object()?;
    members.get(name).or_else(|| members.values().find_map(|member| find(member, name)))
}

/// Collects the members with an `…_encoding`: the name, the encoded value and its MIME type.
fn bytes_in<'a>(
    value: &'a Value,
    found: &mut Vec<(&'a str, Option<&'a Value>, Option<&'a Value>)>,
) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.strip_suffix("_encoding") {
                    Some(of) if *member == "base64" => {
                        found.push((of, members.get(of), members.get(&format!("{of}_mime_type"))));
                    }
                    _ => bytes_in(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| bytes_in(item, found)),
        _ => {}
    }
}

/// Whether a text is padded base64 (RFC 4648).
fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - bare.len() <= 2
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn binary(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Some(data) = exchange.data() else { return };
    let mut found = Vec::new();
    bytes_in(data, &mut found);
    if found.is_empty() {
        cases.not_applicable("no result has a member such as `content_encoding`: base64");
    }
    for (name, bytes, kind) in found {
        let holds = bytes.and_then(Value::as_str).is_some_and(is_base64)
            && kind.is_some_and(Value::is_string);
        cases.expect(holds, || {
            Finding::of(
                exchange,
                format!("{}: `{name}`", exchange.operation()),
                format!("padded base64 of the usual alphabet in `{name}`, and `{name}_mime_type`"),
                "encode bytes as in RFC 4648 §4, and state their MIME type beside them",
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_does_not_end_in_a_space() {
        assert_eq!(beginning("Ελληνικά кириллица", 9), "Ελληνικά");
        assert_eq!(beginning("a\u{a0}b\u{2028}c", 4), "a\u{a0}b");
        assert_eq!(beginning("short", usize::MAX), "short");
    }

    #[test]
    fn recognizes_padded_base64() {
        for text in ["", "AP8BAg==", "AP8B", "+/+/", "AAA="] {
            assert!(is_base64(text), "{text}");
        }
        for text in ["AP8BAg", "AP8BAg=", "AP8B Ag==", "-_-_", "A===", "AP8=BAg="] {
            assert!(!is_base64(text), "{text}");
        }
    }
}
