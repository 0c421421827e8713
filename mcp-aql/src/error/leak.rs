/// Whether a message looks as if it leaked the adapter's insides: stack frames, language errors,
/// paths. This is the check that the protocol's conformance runner makes on every error message.
///
/// It is deliberately crude: `at` before any word counts, so "format x" and "that one" are refused
/// too. The protocol's own texts in this crate are all written around it, and a description is
/// left out of a message that it would spoil.
///
/// ```
/// assert!(mcp_aql::leaks_internals("boom at line 3"));
/// assert!(!mcp_aql::leaks_internals("Missing required parameter 'title'"));
/// ```
///
/// Source: REQ-CNF-09, REQ-ERR-04 (choice C-10).
pub fn leaks_internals(message: &str) -> bool {
    let lower = message.to_ascii_lowercase();
    lower.contains("/src/")
        || lower.contains("/node_modules/")
        || has_at_then_word(&lower)
        || has_line_number(&lower)
        || has_error_class(message)
}

/// The full message, or the plain one where a word in the full one would look like a leak or would
/// break the line. Such a word stays in the details.
pub(crate) fn screened(full: String, plain: impl FnOnce() -> String) -> String {
    if leaks_internals(&full) || full.chars().any(char::is_control) { plain() } else { full }
}

/// `/at\s+\S+/i`
fn has_at_then_word(lower: &str) -> bool {
    lower.match_indices("at").any(|(start, matched)| {
        let rest = lower.get(start + matched.len()..).unwrap_or_default();
        rest.starts_with(char::is_whitespace) && !rest.trim_start().is_empty()
    })
}

/// `.ts:12`, `.js:12`, `.rs:12`
fn has_line_number(lower: &str) -> bool {
    [".ts:", ".js:", ".rs:"].iter().any(|suffix| {
        lower.match_indices(suffix).any(|(start, matched)| {
            let rest = lower.get(start + matched.len()..).unwrap_or_default();
            rest.starts_with(|next: char| next.is_ascii_digit())
        })
    })
}

/// `TypeError`, `RuntimeException`: a camel-case word that ends like a language's error class.
fn has_error_class(message: &str) -> bool {
    message.split(|part: char| !part.is_ascii_alphanumeric()).any(|word| {
        ["Error", "Exception"].iter().any(|suffix| {
            word.strip_suffix(suffix)
                .is_some_and(|stem| stem.starts_with(|first: char| first.is_ascii_uppercase()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaks_are_seen() {
        // REQ-CNF-09
        for (message, leaks) in [
            ("boom at main", true),
            ("needs the format date", true),
            ("in /src/store", true),
            ("TypeError: x", true),
            ("std.rs:12", true),
            ("a flat", false),
            ("Internal error", false),
            ("Parameter 'title' expected 'string', got 'number'", false),
        ] {
            assert_eq!(leaks_internals(message), leaks, "{message}");
        }
    }
}
