//! Names that the protocol reserves, the pattern of public names, and suggestions for unknown names.

/// The operation names that the protocol reserves (REQ-CLS-10).
pub const RESERVED_OPERATIONS: [&str; 7] = [
    "introspect",
    "execute_agent",
    "record_execution_step",
    "complete_execution",
    "abort_execution",
    "confirm_operation",
    "verify_challenge",
];

/// The members of a request, which parameters cannot be named after (MCP-AQL §4.1).
pub const RESERVED_PARAMETERS: [&str; 3] = ["operation", "operations", "params"];

/// Whether `name` matches `^[a-z][a-z0-9_]*$`, the pattern of operation and parameter names.
///
/// ```
/// assert!(mcp_aql_protocol::is_public_name("create_task"));
/// assert!(!mcp_aql_protocol::is_public_name("createTask"));
/// ```
///
/// Source: MCP-AQL §4.3, §8.5.2 (REQ-RQ-02, REQ-RQ-04, REQ-CLS-06).
pub const fn is_public_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    let mut rest = match bytes {
        [first, rest @ ..] if first.is_ascii_lowercase() => rest,
        _ => return false,
    };
    while let [byte, tail @ ..] = rest {
        if !(byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'_') {
            return false;
        }
        rest = tail;
    }
    true
}

/// Returns the candidate that is most similar to `name`, if it is similar enough to be suggested.
///
/// ```
/// use mcp_aql_protocol::nearest_name;
///
/// assert_eq!(nearest_name("titel", ["title", "status"]), Some("title"));
/// ```
pub fn nearest_name<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Comparing takes quadratic time, and clients choose the name.
    if name.len() > 128 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(score, _)| *score >= 0.8)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_names_are_snake_case() {
        // REQ-RQ-04, REQ-CLS-06
        for (name, expected) in [
            ("task", true),
            ("task_2", true),
            ("", false),
            ("_meta", false),
            ("2tasks", false),
            ("Task", false),
            ("task-id", false),
            ("tâche", false),
        ] {
            assert_eq!(is_public_name(name), expected, "{name}");
        }
    }

    #[test]
    fn the_nearest_name_is_suggested_only_when_near() {
        let names = ["title", "status", "priority"];
        assert_eq!(nearest_name("titel", names), Some("title"));
        assert_eq!(nearest_name("prio", names), Some("priority"));
        assert_eq!(nearest_name("colour", names), None);
        assert_eq!(nearest_name(&"title".repeat(100), names), None);
    }
}
