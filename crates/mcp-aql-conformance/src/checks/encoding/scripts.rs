//! Checks that text of every script is accepted and stored unchanged.

use serde_json::{Map, Value, json};

use super::{free_texts, is_free};
use crate::adapter::{Operation, Parameter};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::checks::calls::valid_or_missing;
use crate::checks::stated_changes::StatedChanges;
use crate::nouns::is_identifier;
use crate::resources::RESERVED;
use crate::run::Run;
use crate::shape::Shape;

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

pub(super) async fn unicode(run: &Run, cases: &Cases) {
    for (what, text) in TEXTS {
        let query = json!({ "query": "operations", "name": text });
        if let Some(exchange) = run.introspect(query, cases).await {
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
pub(super) fn beginning(text: &str, most: usize) -> String {
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
    let mut params = valid_or_missing(run, operation, cases)?;
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
pub(super) async fn round_trip(run: &Run, cases: &Cases) {
    // Operations of the protocol do more than store their parameters.
    let operations = run
        .adapter
        .of(Category::Create)
        .filter(|operation| !RESERVED.contains(&operation.name.as_str()));
    let texts = operations.filter_map(|operation| {
        let mut parameters = operation.parameters.iter();
        let text = parameters
            .find(|parameter| is_free(run, parameter) && !is_identifier(&parameter.name))?;
        Some((operation, text))
    });
    let texts =
        cases.some_or_not_applicable(texts, "no CREATE operation has parameters for free text");
    for (operation, parameter) in texts {
        for (what, text) in TEXTS {
            create_with(run, operation, parameter, (what, text), cases).await;
        }
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
        return cases.skip_without(format!(
            "`{}` created nothing: add parameters that it accepts under [params.{}]",
            operation.name, operation.name
        ));
    };
    let Some(shown) = find(data, &parameter.name) else {
        return cases.skip_without(format!(
            "`{}` does not return `{}` of the created item",
            operation.name, parameter.name
        ));
    };
    let changes = StatedChanges::of(Some(parameter), None);
    cases.expect(*shown == sent || changes.allow(&sent, shown), || {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_does_not_end_in_a_space() {
        assert_eq!(beginning("Ελληνικά кириллица", 9), "Ελληνικά");
        assert_eq!(beginning("a\u{a0}b\u{2028}c", 4), "a\u{a0}b");
        assert_eq!(beginning("short", usize::MAX), "short");
    }
}
