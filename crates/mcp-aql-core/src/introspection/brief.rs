//! The brief form of a list entry: an operation's parameters as text in its description.

use std::fmt::Write as _;

use serde_json::Value;

use crate::shape::Members;

/// Describes an operation and its parameters as text, one line for each parameter. A `?` marks
/// optional parameters. The text is a shorter form of the full details.
pub(super) fn brief(description: String, parameters: impl Iterator<Item = Members>) -> String {
    let mut text = description;
    for parameter in parameters {
        // The members of a parameter are valid JSON by construction.
        let parameter = serde_json::from_str(&parameter.to_json()).unwrap_or_default();
        text.push('\n');
        line(&parameter, &mut text);
    }
    text
}

/// Formats a parameter: `limit? integer 1..100 = 50: How many at most.`
fn line(parameter: &Value, text: &mut String) {
    let member = |name: &str| parameter.get(name).and_then(Value::as_str);
    text.push_str(member("name").unwrap_or_default());
    if parameter.get("required") != Some(&Value::Bool(true)) {
        text.push('?');
    }
    text.push(' ');
    form(parameter, text);
    if parameter.get("sensitive").is_some() {
        text.push_str(" sensitive");
    }
    if let Some(default) = parameter.get("default") {
        let _ = write!(text, " = {default}");
    }
    if let Some(description) = member("description") {
        let _ = write!(text, ": {description}");
    }
}

/// Formats a type with its constraints: `string 1..200 long`, `todo|doing|done`, `integer[]`.
fn form(of: &Value, text: &mut String) {
    let kind = of.get("type").and_then(Value::as_str).unwrap_or("any");
    let allowed = of.get("enum").and_then(Value::as_array);
    match (of.get("items"), allowed) {
        (Some(items), _) => {
            let mut item = String::new();
            form(items, &mut item);
            match item.contains([' ', '|']) {
                true => write!(text, "({item})[]"),
                false => write!(text, "{item}[]"),
            }
            .unwrap_or_default();
        }
        (None, Some(allowed)) => {
            let words: Vec<_> = allowed.iter().map(word).collect();
            let strings = allowed.iter().all(Value::is_string);
            let kind = if strings { String::new() } else { format!("{kind} ") };
            let _ = write!(text, "{kind}{}", words.join("|"));
        }
        (None, None) => text.push_str(kind),
    }
    range(of.get("minimum"), of.get("maximum"), "", text);
    range(of.get("minLength"), of.get("maxLength"), " long", text);
    if let Some(format) = of.get("format").map(word) {
        let _ = write!(text, " {format}");
    }
    if let Some(pattern) = of.get("pattern").map(word) {
        let _ = write!(text, " /{pattern}/");
    }
}

fn range(low: Option<&Value>, high: Option<&Value>, unit: &str, text: &mut String) {
    if low.is_some() || high.is_some() {
        let end = |bound: Option<&Value>| bound.map(word).unwrap_or_default();
        let _ = write!(text, " {}..{}{unit}", end(low), end(high));
    }
}

/// Formats a value; text has no quotes.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_parameter_is_a_line_with_all_of_its_constraints() {
        // REQ-INT-13, REQ-INT-29
        for (members, expected) in [
            (json!({ "name": "a", "type": "string", "required": true }), "a string"),
            (
                json!({
                    "name": "a", "type": "integer", "required": false, "description": "How many.",
                    "default": 50, "minimum": 1, "maximum": 100,
                }),
                "a? integer 1..100 = 50: How many.",
            ),
            (
                json!({ "name": "a", "type": "string", "required": true, "enum": ["x", "y z"] }),
                "a x|y z",
            ),
            (
                json!({ "name": "a", "type": "integer", "required": true, "enum": [1, 2] }),
                "a integer 1|2",
            ),
            (
                json!({
                    "name": "a", "type": "string", "required": true, "minLength": 1,
                    "pattern": "^[a-z]+$", "sensitive": true,
                }),
                "a string 1.. long /^[a-z]+$/ sensitive",
            ),
            (
                json!({
                    "name": "a", "type": "array", "required": false, "default": [],
                    "items": { "type": "string", "format": "date" },
                }),
                "a? (string date)[] = []",
            ),
            (
                json!({
                    "name": "a", "type": "array", "required": true,
                    "items": { "type": "array", "items": { "type": "Place" } },
                }),
                "a Place[][]",
            ),
        ] {
            let mut text = String::new();
            line(&members, &mut text);
            assert_eq!(text, expected);
        }
    }
}
