//! What shows the inside of a program to whoever calls it: paths, class names, stack traces.

use std::sync::LazyLock;

use regex::RegexSet;
use serde_json::Value;

use crate::wire::is_light;

/// Texts that no error message may hold (REQ-ERR-04, REQ-CNF-09).
static INSIDES: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    RegexSet::new([
        r"\b[A-Z][A-Za-z]*(?:Error|Exception):",
        r"(?i)traceback \(most recent call last\)",
        r"(?m)^\s*at\s+\S+.*[:(]\d+",
        r"(?:/src/|/node_modules/|site-packages|\.cargo/registry)",
        r"\.(?:ts|js|py|rs|go|java|rb|php|cs):\d+",
        r"\bpanicked at\b",
        r"\b[a-z_][a-z0-9_]*::[a-z_][a-z0-9_]*::[A-Za-z_]",
    ])
    .ok()
});

/// What of this message shows the inside of the program: of error messages, anything; of data, nothing,
/// for it may be about programs.
pub(crate) fn leak(message: &Value) -> Option<String> {
    let mut texts = Vec::new();
    if let Some(text) = message.pointer("/error/message").and_then(Value::as_str) {
        texts.push(text.to_owned());
    }
    if let Some(text) = message.pointer("/result/content/0/text").and_then(Value::as_str)
        && is_light(text.as_bytes())
    {
        match serde_json::from_str::<Value>(text) {
            Ok(body) => errors(&body, &mut texts),
            Err(_) => texts.push(text.to_owned()),
        }
    }
    texts.into_iter().find(|text| shows_insides(text))
}

/// Whether a text does.
pub(crate) fn shows_insides(text: &str) -> bool {
    INSIDES.as_ref().is_some_and(|insides| insides.is_match(text))
}

/// The errors of a result, and of the results inside of it.
fn errors(body: &Value, texts: &mut Vec<String>) {
    match body {
        Value::Object(members) => {
            for (name, value) in members {
                if name == "error" {
                    texts.push(value.to_string());
                } else if name != "data" {
                    errors(value, texts);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| errors(item, texts)),
        _ => {}
    }
}
