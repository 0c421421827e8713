//! What goes over the wire, whatever it means.

use super::{Body, Check, Keyword};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding};
use crate::run::Run;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "wire.only_messages",
        title: "Nothing but JSON-RPC messages comes from the adapter",
        requirements: &["REQ-MCP-09"],
        keyword: Keyword::Must,
        level: 1,
        body: Body::Seen(only_messages),
    },
    Check {
        id: "wire.one_text_item",
        title: "A result is one text item that holds the operation's result as JSON",
        requirements: &["REQ-MCP-09"],
        keyword: Keyword::Must,
        level: 1,
        body: Body::Every(one_text_item),
    },
];

fn only_messages(run: &Run, cases: &Cases) {
    let nonsense = run.seen().nonsense;
    cases.expect(nonsense.count == 0, || {
        Finding::shown(
            "what the adapter sends",
            nonsense.first,
            "JSON-RPC messages in UTF-8 and nothing else",
            "write logs to standard error, not to standard output",
        )
    });
}

fn one_text_item(_: &Run, exchange: &Exchange, cases: &Cases) {
    let Reply::Result { raw, body } = &exchange.reply else { return };
    let items = raw.get("content").and_then(serde_json::Value::as_array);
    let is_text = items.is_some_and(|items| {
        items.len() == 1
            && items.iter().all(|item| item.get("type").is_some_and(|kind| kind == "text"))
    });
    cases.expect(is_text && body.is_some(), || Finding {
        received: raw.clone(),
        ..Finding::of(
            exchange,
            exchange.operation(),
            "`content` with one item of type text, whose text is a JSON object",
            "serialize the operation's result into the text of a single content item",
        )
    });
}
