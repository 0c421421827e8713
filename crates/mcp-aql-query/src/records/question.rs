//! Fills the question before a deletion with fields of the record.

use mcp_aql_core::internal::gatekeeper::fill_with;
use serde_json::{Map, Value};

/// Replaces `{field}` by the value of the field, and `{{` and `}}` by braces. A list is replaced by the
/// number of its entries.
///
/// ```text
/// Delete the order of {customer}, {items} items? → Delete the order of Ada, 3 items?
/// ```
pub(super) fn fill(question: &str, record: &Map<String, Value>) -> String {
    fill_with(question, |name| {
        Some(match record.get(name) {
            None | Some(Value::Null) => "nothing".into(),
            Some(Value::Array(entries)) => entries.len().into(),
            Some(value) => value.clone(),
        })
    })
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
