//! Parses the slots of a message with the syntax of `format!`: `{name}`, and `{{` or `}}` for a brace.

/// Returns the names in the slots. The error is a message about unbalanced braces.
pub(crate) fn names(text: &str) -> Result<Vec<&str>, String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (_, brace) = rest.split_at(at);
        if let Some(after) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
            rest = after;
            continue;
        }
        let Some(slot) = brace.strip_prefix('{') else {
            return Err("a `}` has no opening `{`: write `}}` for a brace".to_owned());
        };
        let (name, end) = slot.split_at(slot.find(['{', '}']).unwrap_or(slot.len()));
        let Some(after) = end.strip_prefix('}') else {
            return Err(
                "a `{` is never closed: write `}` after the parameter's name, or `{{` for a brace"
                    .to_owned(),
            );
        };
        names.push(name);
        rest = after;
    }
    Ok(names)
}

/// Returns the parameter to which a slot belongs: `input` for `{input.address.city}`.
pub(crate) fn parameter(slot: &str) -> &str {
    slot.split_once('.').map_or(slot, |(parameter, _)| parameter)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn slots_are_found_and_braces_escaped() {
        for (text, expected) in [
            ("", &[][..]),
            ("Delete it?", &[]),
            ("Delete '{task_id}' of {owner}?", &["task_id", "owner"]),
            ("{a}{b}", &["a", "b"]),
            ("{{a}} {{{b}}} {}", &["b", ""]),
            ("é{ä}é", &["ä"]),
        ] {
            assert_eq!(names(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn braces_are_balanced() {
        for (text, start) in [
            ("{", "a `{` is never closed"),
            ("Delete {task_id", "a `{` is never closed"),
            ("{a{b}}", "a `{` is never closed"),
            ("task_id}", "a `}` has no opening"),
            ("{task_id}}", "a `}` has no opening"),
        ] {
            assert!(names(text).unwrap_err().starts_with(start), "{text}");
        }
    }
}
