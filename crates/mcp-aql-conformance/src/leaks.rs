//! Detects program internals in messages: file paths, class names and stack traces.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde_json::Value;

use crate::json_size::is_light;

/// Patterns that error messages must not match (REQ-ERR-04, REQ-CNF-09).
/// If you add a pattern, add a message that it matches to the tests below, and a similar one that is harmless.
static INSIDES: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    RegexSet::new([
        r"\b[A-Z][A-Za-z]*(?:Error|Exception)[:(]",
        r"'NoneType' object|\bobject has no attribute\b|\bis not a function\b",
        r#"\bFile \\?"[^"]+", line \d+"#,
        r"\[Errno \d+\]",
        r"(?i)traceback \(most recent call last\)",
        r"(?m)^\s*at\s+\S+.*[:(]\d+",
        r"(?:/src/|/node_modules/|site-packages|\.cargo/registry)",
        r"\.(?:ts|js|py|rs|go|java|rb|php|cs)(?::| on line )\d+",
        r"\bpanicked at\b",
        r"\b[a-z_][a-z0-9_]*::[a-z_][a-z0-9_]*::[A-Za-z_]",
    ])
    .ok()
});

/// Absolute file paths: in directories that no URL starts with, or with several levels.
static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x) (?:^|[^\w/.:-]) (
            /(?:etc|var|usr|opt|srv|proc|Users)/[\w.@-]+(?:/[\w.@-]+)*
            | /(?:home|root|tmp|app|private|mnt|workspace)(?:/[\w.@-]+)*/[\w@-]+\.[a-z]{1,5}\b
            | [A-Z]:\\+(?:Users|Windows|Program\ Files)\\+\w+
        )",
    )
    .ok()
});

/// Returns the first file path in a string.
///
/// ```text
/// no '/var/lib/app/items.json'  →  /var/lib/app/items.json
/// https://example.com/usr/x     →  none
/// ```
pub(crate) fn path(text: &str) -> Option<&str> {
    let found = PATH.as_ref()?.captures(text)?.get(1)?;
    Some(found.as_str())
}

/// Returns the errors of a result as JSON strings.
pub(crate) fn errors_of(body: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    errors(body, &mut texts);
    texts
}

/// Returns the part of a message that exposes internals.
///
/// Only errors are searched. The data of a result may be about programs, so it proves nothing.
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

/// Returns `true` if a string exposes internals.
pub(crate) fn shows_insides(text: &str) -> bool {
    INSIDES.as_ref().is_some_and(|insides| insides.is_match(text))
}

/// Collects the errors of a result and of the results nested in it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_internals_of_languages() {
        for text in [
            r#"File "/srv/app/store.py", line 12, in get"#,
            r#"{"message":"in File \"store.py\", line 12"}"#,
            "[Errno 2] No such file",
            "'NoneType' object has no attribute 'get'",
            "KeyError('x')",
            "x.get is not a function",
            "Undefined index in shop.php on line 3",
            "TypeError: x",
        ] {
            assert!(shows_insides(text), "{text}");
        }
        for text in [
            "Resource 'file' not found: 'notes.txt'",
            "Parameter 'line' expected integer, got string",
            "No such file in the folder",
        ] {
            assert!(!shows_insides(text), "{text}");
        }
    }

    #[test]
    fn distinguishes_file_paths_from_urls() {
        for (text, shown) in [
            ("open /etc/app/config.yaml: no such file", "/etc/app/config.yaml"),
            ("no '/var/lib/app/items.json'", "/var/lib/app/items.json"),
            ("cannot read /app/data/items.db", "/app/data/items.db"),
            (r"C:\Users\me is gone", r"C:\Users\me"),
        ] {
            assert_eq!(path(text), Some(shown), "{text}");
        }
        for text in
            ["https://example.com/usr/x", "/home/feed", "/app/items", "and/or/etc/x", "/etc"]
        {
            assert_eq!(path(text), None, "{text}");
        }
    }
}
