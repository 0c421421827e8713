//! Checks that strings in every script are accepted and stored unchanged.

use serde_json::{Map, Value, json};

use super::{free_texts, is_free};
use crate::adapter::{Operation, Parameter};
use crate::call::{Exchange, Reply};
use crate::cases::{Cases, Finding};
use crate::category::Category;
use crate::checks::calls::valid_or_missing;
use crate::checks::stated_changes::StatedChanges;
use crate::items::varied;
use crate::nouns::is_identifier;
use crate::resources::{RESERVED, is_control};
use crate::run::Run;
use crate::shape::Shape;

/// Strings that programs often reject, truncate or normalize, each with a description.
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
        // Use the next string for each parameter, so that many parameters cover all strings.
        let Some((what, text)) = TEXTS.get(place % TEXTS.len()) else { return };
        let Some(params) = with_text(run, operation, parameter, text, cases) else { continue };
        if let Some(exchange) = run.call(operation, params, cases).await {
            is_taken(&exchange, &parameter.name, what, cases);
        }
    }
}

/// Returns the first characters of a string, without trailing spaces because an adapter may trim them.
pub(super) fn beginning(text: &str, most: usize) -> String {
    text.chars().take(most).collect::<String>().trim_end().to_owned()
}

/// Returns valid parameters with this string in one of them. Skips the case if the parameter does not accept it.
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
    // The named item need not exist.
    let mut params = valid_or_missing(run, operation, cases)?;
    params.insert(parameter.name.clone(), text);
    Some(params)
}

/// Returns `true` if a call failed because of a string in it.
fn is_text_refused(exchange: &Exchange) -> bool {
    let code = exchange.code();
    code == Some("VALIDATION_INVALID_ENCODING")
        || code == Some("INTERNAL_ERROR")
        || matches!(exchange.reply, Reply::Protocol { .. })
}

/// Reports a string that should be accepted according to introspection. The named item need not exist.
fn is_taken(exchange: &Exchange, parameter: &str, what: &str, cases: &Cases) {
    cases.expect(!is_text_refused(exchange), || {
        Finding::of(exchange, format!("{}: `{parameter}`", exchange.operation()))
            .expected(format!("a reply to a string with {what}, because it is valid UTF-8"))
            .fix("accept every character except U+0000, and use UTF-8 everywhere")
    });
}

/// Compares strings in created items with the submitted ones.
pub(super) async fn round_trip(run: &Run, cases: &Cases) {
    // The protocol's own operations do more than store their parameters.
    let operations = run
        .adapter
        .of(Category::Create)
        .filter(|operation| !RESERVED.contains(&operation.name.as_str()));
    let texts = operations.filter_map(|operation| {
        let parameters = operation.parameters.iter();
        let texts: Vec<_> = parameters.filter(|it| is_stored_text(run, it)).collect();
        (!texts.is_empty()).then_some((operation, texts))
    });
    let texts =
        cases.some_or_not_applicable(texts, "no CREATE operation has a free-form string parameter");
    for (operation, parameters) in texts {
        let mut parameters = parameters;
        for turn in 0..TEXTS.len() {
            let created = create_with(run, operation, &parameters, turn, cases).await;
            if created.is_some() || parameters.len() == 1 {
                continue;
            }
            // Introspection cannot express every rule. Find the parameters that accept their string one by one.
            let mut accepted = Vec::new();
            for parameter in parameters {
                if create_with(run, operation, &[parameter], turn, cases).await.is_some() {
                    accepted.push(parameter);
                }
            }
            parameters = accepted;
            if parameters.is_empty() {
                cases.skip_without(format!(
                    "`{name}` created nothing: add parameters that it accepts under \
                     [params.{name}]",
                    name = operation.name
                ));
                break;
            }
        }
    }
}

/// Returns `true` if a parameter accepts a free-form string for a field of the item.
fn is_stored_text(run: &Run, parameter: &Parameter) -> bool {
    is_free(run, parameter)
        && !is_identifier(&parameter.name)
        && !is_control(&parameter.name)
        && parameter.member("sensitive") != Some(&Value::Bool(true))
}

/// Creates an item with a different string in each of these parameters and compares the stored strings.
///
/// `turn` shifts the assignment, so in the end every parameter gets every string. Returns `None` if nothing was
/// created.
async fn create_with(
    run: &Run,
    operation: &Operation,
    parameters: &[&Parameter],
    turn: usize,
    cases: &Cases,
) -> Option<()> {
    let mut params = Map::new();
    let mut tried = Vec::new();
    for (at, parameter) in parameters.iter().enumerate() {
        let (what, text) = TEXTS.get((turn + at) % TEXTS.len())?;
        let with_text = with_text(run, operation, parameter, text, cases);
        let Some(mut with_text) = with_text else { continue };
        let Some(sent) = with_text.remove(&parameter.name) else { continue };
        // Keep the strings of earlier parameters.
        with_text.append(&mut params);
        params = with_text;
        params.insert(parameter.name.clone(), sent);
        tried.push((*parameter, *what));
    }
    if tried.is_empty() {
        return Some(());
    }
    let mut exchange = run.call(operation, params.clone(), cases).await?;
    if exchange.code().is_some_and(|code| code.starts_with("CONFLICT_")) {
        params = varied(run, operation, &params, turn);
        exchange = run.call(operation, params.clone(), cases).await?;
    }
    let Some(data) = exchange.data() else {
        // Other checks report whether the item can be created at all.
        if is_text_refused(&exchange)
            && let [(parameter, what)] = tried.as_slice()
        {
            is_taken(&exchange, &parameter.name, what, cases);
            return Some(());
        }
        return None;
    };
    for (parameter, what) in tried {
        let sent = params.get(&parameter.name).cloned().unwrap_or_default();
        let Some(shown) = shown(run, operation, data, &parameter.name) else {
            cases.skip_without(format!(
                "`{}` does not return `{}` of the created item",
                operation.name, parameter.name
            ));
            continue;
        };
        let changes = StatedChanges::of(Some(parameter), None);
        cases.expect(*shown == sent || changes.allow(&sent, shown), || {
            Finding::of(&exchange, format!("{}: `{}`", operation.name, parameter.name))
                .expected(format!("`{}` unchanged, with {what}", parameter.name))
        });
    }
    Some(())
}

/// Returns a field of the created item in `data`.
///
/// The item may be in a member with the name of the field: `{"tag": {"tag": "red"}}`.
fn shown<'v>(run: &Run, operation: &Operation, data: &'v Value, name: &str) -> Option<&'v Value> {
    let kind = run.resources().of_operation(&operation.name);
    let item = kind.and_then(|kind| kind.object(data));
    item.and_then(|item| item.get(name)).or_else(|| find(data, name))
}

/// Finds a member with this name at any depth. Prefers the inner one of two nested members with the same name.
fn find<'a>(data: &'a Value, name: &str) -> Option<&'a Value> {
    let members = data.as_object()?;
    let inside = members.values().find_map(|member| find(member, name));
    let own = members.get(name);
    if own.is_some_and(Value::is_object) { inside.or(own) } else { own.or(inside) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_fields_that_are_named_like_their_item() {
        for data in [
            json!({ "tag": { "tag_id": 1, "tag": "red" } }),
            json!({ "tag": "red", "colour": { "tag": "blue" } }),
            json!({ "result": { "tag": { "tag": "red" } } }),
        ] {
            assert_eq!(find(&data, "tag"), Some(&json!("red")), "{data}");
        }
        assert_eq!(find(&json!({ "tag": { "name": "x" } }), "tag"), Some(&json!({ "name": "x" })));
        assert_eq!(find(&json!({ "name": "x" }), "tag"), None);
    }

    #[test]
    fn shortened_text_does_not_end_in_a_space() {
        assert_eq!(beginning("Ελληνικά кириллица", 9), "Ελληνικά");
        assert_eq!(beginning("a\u{a0}b\u{2028}c", 4), "a\u{a0}b");
        assert_eq!(beginning("short", usize::MAX), "short");
    }
}
