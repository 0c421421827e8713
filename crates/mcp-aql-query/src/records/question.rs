//! The question before a deletion, with fields of the record.

use serde_json::{Map, Value};

/// Replaces `{field}` by the value of the field, and `{{` and `}}` by braces. A list counts its entries.
pub(super) fn fill(question: &str, record: &Map<String, Value>) -> String {
    let mut filled = String::with_capacity(question.len());
    let mut rest = question;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, brace) = rest.split_at(at);
        filled.push_str(before);
        rest = match brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
            Some(after) => {
                filled.extend(brace.chars().next());
                after
            }
            None => {
                let slot = brace.strip_prefix('{').unwrap_or_default();
                let (name, after) = slot.split_once('}').unwrap_or((slot, ""));
                filled.push_str(&shown(record.get(name)));
                after
            }
        };
    }
    filled.push_str(rest);
    filled
}

/// A value as a person reads it.
fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(entries)) => entries.len().to_string(),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fill;

    #[test]
    fn slots_show_the_values_of_fields() {
        let record = json!({ "id": 7, "customer": "Ada {x}", "items": ["a", "b"], "note": null });
        let record = record.as_object().unwrap();
        for (question, expected) in [
            ("Delete it?", "Delete it?"),
            ("Delete {id} of {customer}, {items} items?", "Delete 7 of Ada {x}, 2 items?"),
            ("{{{id}}} {note} {unknown}", "{7} nothing nothing"),
        ] {
            assert_eq!(fill(question, record), expected);
        }
    }
}
