//! The canonical hash of a call's arguments.

use std::fmt::Write as _;

use serde_json::Value;

use crate::schema::Argument;
use crate::vocab::digest;

/// Returns the SHA-256 hash of a call's arguments, in hexadecimal. The order of the arguments, and of members in
/// objects, does not change the hash (REQ-TOK-03, REQ-TOK-04). The hashed string is:
///
/// ```text
/// a={"x":1,"y":[1,2]}
/// b="t"
/// ```
pub(crate) fn params_hash(arguments: &[Argument]) -> String {
    let mut given: Vec<_> = arguments
        .iter()
        .filter_map(|argument| argument.value.as_ref().map(|value| (argument.name, value)))
        .collect();
    given.sort_unstable_by_key(|(name, _)| *name);
    let mut text = String::new();
    for (name, value) in given {
        // Names are in snake case, so they cannot contain the separator.
        text.push_str(name);
        text.push('=');
        write(value, &mut text);
        text.push('\n');
    }
    digest(text.as_bytes())
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (place, (name, value)) in members.into_iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                write(&Value::from(name.as_str()), text);
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                write(item, text);
            }
            text.push(']');
        }
        plain => {
            let _ = write!(text, "{plain}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hash(pairs: &[(&'static str, &str)]) -> String {
        let arguments: Vec<_> = pairs
            .iter()
            .map(|(name, text)| Argument { name, value: serde_json::from_str(text).unwrap() })
            .collect();
        params_hash(&arguments)
    }

    #[test]
    fn the_order_of_names_does_not_count_and_everything_else_does() {
        // REQ-TOK-03, REQ-TOK-04
        let one = hash(&[("a", r#"{"x":1,"y":[1,2]}"#), ("b", "\"t\"")]);
        assert_eq!(one.len(), 64);
        assert_eq!(one, hash(&[("b", "\"t\""), ("a", r#"{"y":[1,2],"x":1}"#)]));
        for other in [
            hash(&[("a", r#"{"x":1,"y":[2,1]}"#), ("b", "\"t\"")]),
            hash(&[("a", r#"{"x":"1","y":[1,2]}"#), ("b", "\"t\"")]),
            hash(&[("a", r#"{"x":1,"y":[1,2]}"#)]),
            hash(&[("a", r#"{"x":1,"y":[1,2]}"#), ("b", "\"t\\nc=1\"")]),
        ] {
            assert_ne!(one, other);
        }
        // An omitted argument does not change the hash, even if the table declares it.
        let absent = [Argument { name: "a", value: None }];
        assert_eq!(params_hash(&absent), params_hash(&[]));
        assert_ne!(
            params_hash(&absent),
            params_hash(&[Argument { name: "a", value: Some(json!(null)) }])
        );
    }
}
