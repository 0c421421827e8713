//! Text: what is none, and what has to come through unharmed.

use serde_json::{Map, Value, json};

use super::{Body, Check, Keyword, later};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding, Skip};
use crate::learn::{Category, Operation, Parameter};
use crate::resources::RESERVED;
use crate::run::{Run, arguments};
use crate::values::Shape;
use crate::wire::{Connection, Lost};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "encoding.nul",
        title: "U+0000 in text is refused with VALIDATION_INVALID_ENCODING",
        requirements: &["REQ-ENC-02"],
        keyword: Keyword::Should,
        level: 1,
        body: Body::Reads(later!(nul)),
    },
    Check {
        id: "encoding.invalid_utf8",
        title: "Bytes that are no UTF-8 are never taken for text",
        requirements: &["REQ-ENC-01"],
        keyword: Keyword::Must,
        level: 1,
        body: Body::Alone(later!(invalid_utf8)),
    },
    Check {
        id: "encoding.lone_surrogate",
        title: "Half a surrogate pair is never taken for text",
        requirements: &["REQ-ENC-01"],
        keyword: Keyword::Must,
        level: 1,
        body: Body::Alone(later!(lone_surrogate)),
    },
    Check {
        id: "encoding.unicode",
        title: "Text of every script is taken",
        requirements: &["REQ-ENC-01"],
        keyword: Keyword::Must,
        level: 1,
        body: Body::Reads(later!(unicode)),
    },
    Check {
        id: "encoding.unharmed",
        title: "Text of every script comes back as it was sent, character by character",
        requirements: &["REQ-ENC-01", "REQ-CNF-13"],
        keyword: Keyword::Must,
        level: 2,
        body: Body::Changes(later!(unharmed)),
    },
    Check {
        id: "encoding.binary",
        title: "Bytes in results are padded base64, with what they are beside them",
        requirements: &["REQ-ENC-06"],
        keyword: Keyword::Must,
        level: 1,
        body: Body::Every(binary),
    },
];

/// Texts that careless programs refuse, cut or put right.
const TEXTS: [(&str, &str); 6] = [
    ("letters of many scripts", "Ελληνικά кириллица 漢字かな 한국어 ไทย हिन्दी"),
    ("right to left", "שלום عليكم \u{200f}(mixed) abc"),
    ("composed and decomposed", "\u{e9}t\u{e9} e\u{301}te\u{301} \u{fb01}"),
    ("beyond the basic plane", "🌱🏡👩\u{200d}🌾 𝒳 \u{10ffff}"),
    ("other spaces and ends of lines", "a\u{a0}b\u{2028}c\u{200b}d\u{feff}e"),
    ("signs that mean something elsewhere", "<b>&amp; \"quoted\" 'too' \\ / %20 ${x} {{y}} ;--"),
];

/// Whether a parameter takes any text.
pub(super) fn is_free(run: &Run, parameter: &Parameter) -> bool {
    ["enum", "pattern", "format"].iter().all(|member| parameter.member(member).is_none())
        && parameter.kind == "string"
        && Shape::of(&run.adapter, parameter).words().is_none()
}

/// The parameters of operations that change nothing which take any text.
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
                "look for U+0000 in all text of a request before it goes any further: what is written \
                 in C ends there",
            )
        });
    };
    // Every adapter has this one.
    let exchange = run.introspect(json!({ "query": "operations", "name": "a\u{0}b" })).await;
    if exchange.lost().is_none() {
        refuses(&exchange, "name");
    }
    for (operation, parameter) in free_texts(run) {
        let Some(mut params) = cases.ok_or_skip(run.of_nobody(operation)) else { continue };
        params.insert(parameter.name.clone(), json!("conformance\u{0}probe"));
        let call = arguments(&operation.name, params);
        if let Some(exchange) = run.refused(&operation.tool, call, cases).await {
            refuses(&exchange, &parameter.name);
        }
    }
}

/// Bytes that are no text where text should be, and a name for them.
type Broken = (&'static [u8], &'static str);

const NO_UTF8: [Broken; 5] = [
    (b"\xc0\xaf", "a slash in two bytes"),
    (b"a\x80", "a byte that continues nothing"),
    (b"\xe2\x82", "a character that breaks off"),
    (b"\xed\xa0\x80", "half a surrogate pair, in UTF-8"),
    (b"\xf4\x90\x80\x80", "a character beyond U+10FFFF"),
];

const SURROGATES: [Broken; 3] = [
    (br"\ud800", "a first half with nothing behind it"),
    (br"\udc00", "a second half with nothing before it"),
    (br"\ud800\ud800", "two first halves"),
];

async fn invalid_utf8(run: &Run, cases: &Cases) {
    send_all_broken(run, &NO_UTF8, cases).await;
}

async fn lone_surrogate(run: &Run, cases: &Cases) {
    send_all_broken(run, &SURROGATES, cases).await;
}

/// Sends requests that must not succeed, on a connection of their own.
async fn send_all_broken(run: &Run, all: &[Broken], cases: &Cases) {
    match run.open().await {
        Ok(connection) => {
            for broken in all {
                send_broken(run, &connection, broken, cases).await;
            }
            connection.close().await;
        }
        Err(lost) => cases.skip(Skip::CutShort(lost.to_string())),
    }
}

/// Sends one, and another request behind it: where the first cannot be answered, for its id could not be
/// read, the second one is.
async fn send_broken(run: &Run, connection: &Connection, (bytes, what): &Broken, cases: &Cases) {
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
        // What was sent first has had its time.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        answer
    };
    let id = json!(id);
    let first = connection.exchange(&id, message, limit);
    tokio::pin!(first, behind);
    let reply = tokio::select! {
        biased;
        answer = &mut first => Some(Reply::from(answer)),
        next = &mut behind => match next.lost() {
            Some(lost) => return ended(lost, bytes, what, cases),
            None => None,
        },
    };
    let Some(reply) = reply else {
        // Nobody can tell whose answer a message without an id is: it was refused, or went unheard.
        return cases.pass();
    };
    let exchange = Exchange { tool: tool.clone(), arguments: call, reply };
    if let Some(lost) = exchange.lost() {
        // HTTP can refuse before anybody looks.
        if matches!(lost, Lost::Status(400..=499)) {
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
            "a failure VALIDATION_INVALID_ENCODING, or a JSON-RPC error where the transport already \
             cannot read it",
            "decode strictly: whoever replaces what it cannot read works with text that nobody sent",
        )
    });
}

/// Nothing came back: it is a finding if the adapter has gone for it.
fn ended(lost: &Lost, bytes: &[u8], what: &str, cases: &Cases) {
    if !matches!(lost, Lost::Closed(_)) {
        return cases.skip(Skip::CutShort(lost.to_string()));
    }
    cases.fail(Finding {
        sent: json!(format!("introspect, with {what} in `name`: {}", bytes.escape_ascii())),
        ..Finding::shown(
            "introspect: `name`",
            lost.to_string(),
            "a failure VALIDATION_INVALID_ENCODING, or a JSON-RPC error where the transport already \
             cannot read it",
            "read bytes, refuse those that are no text, and go on: one bad message must not end the \
             adapter",
        )
    });
}

async fn unicode(run: &Run, cases: &Cases) {
    for (what, text) in TEXTS {
        let exchange = run.introspect(json!({ "query": "operations", "name": text })).await;
        if exchange.lost().is_none() {
            is_taken(&exchange, "name", what, cases);
        }
    }
    for (place, (operation, parameter)) in free_texts(run).enumerate() {
        // Every text goes into some parameter, and every parameter gets one.
        let Some((what, text)) = TEXTS.get(place % TEXTS.len()) else { return };
        let Some(params) = with_text(run, operation, parameter, text, cases) else { continue };
        if let Some(exchange) = run.call(operation, params, cases).await {
            is_taken(&exchange, &parameter.name, what, cases);
        }
    }
}

/// The first characters of a text, without blanks at its end: an adapter may take those away.
fn beginning(text: &str, most: usize) -> String {
    text.chars().take(most).collect::<String>().trim_end().to_owned()
}

/// Valid parameters with a text in one of them, if that one takes it.
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
    // What is asked for need not be there.
    let found = run.valid(operation).or_else(|_| run.of_nobody(operation));
    let mut params = cases.ok_or_skip(found)?;
    params.insert(parameter.name.clone(), text);
    Some(params)
}

/// Whether a call went wrong for the text in it.
fn is_text_refused(exchange: &Exchange) -> bool {
    let code = exchange.code();
    code == Some("VALIDATION_INVALID_ENCODING")
        || code == Some("INTERNAL_ERROR")
        || matches!(exchange.reply, Reply::Protocol { .. })
}

/// Text that introspection lets through may name nothing that there is, but it is text.
fn is_taken(exchange: &Exchange, parameter: &str, what: &str, cases: &Cases) {
    cases.expect(!is_text_refused(exchange), || {
        Finding::of(
            exchange,
            format!("{}: `{parameter}`", exchange.operation()),
            format!("an answer to text with {what}, since all of it is UTF-8"),
            "take every character but U+0000, and pass text on in UTF-8 wherever it goes",
        )
    });
}

/// What is created shows the text that it was created with.
async fn unharmed(run: &Run, cases: &Cases) {
    let mut is_any = false;
    for operation in run.adapter.of(Category::Create) {
        // The protocol's own ones mean more than what they are told.
        if RESERVED.contains(&operation.name.as_str()) {
            continue;
        }
        let Some(parameter) = operation.parameters.iter().find(|parameter| {
            is_free(run, parameter) && !crate::values::is_identifier(&parameter.name)
        }) else {
            continue;
        };
        is_any = true;
        for (what, text) in TEXTS {
            create_with(run, operation, parameter, (what, text), cases).await;
        }
    }
    if !is_any {
        cases.not_applicable("no CREATE operation takes free text");
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
        // Whether it can be created at all is seen elsewhere.
        if is_text_refused(&exchange) {
            return is_taken(&exchange, &parameter.name, what, cases);
        }
        return cases.skip(Skip::NoFixture(format!(
            "`{}` did not create anything: give parameters that it takes under [params.{}]",
            operation.name, operation.name
        )));
    };
    let Some(shown) = find(data, &parameter.name) else {
        return cases.skip(Skip::NoFixture(format!(
            "`{}` does not show `{}` of what it creates",
            operation.name, parameter.name
        )));
    };
    cases.expect(*shown == sent, || {
        Finding::of(
            &exchange,
            format!("{}: `{}`", operation.name, parameter.name),
            format!("`{}` as it was sent, with {what}", parameter.name),
            "keep text as it comes: no other normal form, nothing escaped or replaced",
        )
    });
}

/// A member of this name, here or in an object within.
fn find<'a>(data: &'a Value, name: &str) -> Option<&'a Value> {
    let members = data.as_object()?;
    members.get(name).or_else(|| members.values().find_map(|member| find(member, name)))
}

/// What a result says of bytes in it: the name, whatever stands under it, and its MIME type.
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

/// Whether a text is base64 as RFC 4648 has it, with its padding.
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
                "encode bytes as RFC 4648 §4 has it, and say beside them what they are",
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_does_not_end_in_a_blank() {
        assert_eq!(beginning("Ελληνικά кириллица", 9), "Ελληνικά");
        assert_eq!(beginning("a\u{a0}b\u{2028}c", 4), "a\u{a0}b");
        assert_eq!(beginning("short", usize::MAX), "short");
    }

    #[test]
    fn base64_has_its_alphabet_and_its_padding() {
        for text in ["", "AP8BAg==", "AP8B", "+/+/", "AAA="] {
            assert!(is_base64(text), "{text}");
        }
        for text in ["AP8BAg", "AP8BAg=", "AP8B Ag==", "-_-_", "A===", "AP8=BAg="] {
            assert!(!is_base64(text), "{text}");
        }
    }
}
