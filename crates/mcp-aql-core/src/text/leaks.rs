//! Detects messages that would reveal the inside of an adapter, such as stack frames and paths.

/// Returns `true` if a message looks as if it came from the inside of an adapter: a stack frame, an error of a
/// programming language, or a path of source code.
///
/// The rules include everything that the protocol's own conformance runner rejects, because a rejected message costs
/// an adapter level 1. That runner takes every `at` before white space and another character for a stack frame, even
/// in "format date", "that is" and "repeat it". The framework's own messages avoid such words.
///
/// Constructors of [`OperationError`](struct@crate::OperationError) insert strings only known at run time, for
/// example an identifier, a reason or the answer of another service. They leave such a string out of the message if
/// this function rejects it; the details always contain it. [`OperationError::new`](crate::OperationError::new) uses
/// the message as it is, so check your messages in a test:
///
/// ```
/// assert!(mcp_aql::testing::leaks_internals("boom at line 3"));
/// assert!(mcp_aql::testing::leaks_internals("panicked at src/main.rs:3:5"));
/// assert!(mcp_aql::testing::leaks_internals("Parameter 'day' has the format date"));
/// assert!(!mcp_aql::testing::leaks_internals("Parameter 'day' must be a date"));
/// ```
///
/// Source: REQ-CNF-09, REQ-ERR-04 (choice C-10).
pub fn leaks_internals(message: &str) -> bool {
    let lower = message.to_lowercase();
    let fragments = [
        "/src/",
        "/node_modules/",
        "stack backtrace",
        "traceback (most recent",
        "typeerror",
        "referenceerror",
        "syntaxerror",
    ];
    fragments.iter().any(|fragment| lower.contains(fragment))
        || has_stack_frame(&lower)
        || has_line_number(&lower)
        || has_error_class(message)
}

/// Returns the full message, or the plain one if a string in the full message looks like a leak or breaks the line.
/// The details still contain that string.
pub(crate) fn screened(full: String, plain: impl FnOnce() -> String) -> String {
    if leaks_internals(&full) || full.chars().any(char::is_control) { plain() } else { full }
}

/// Returns `true` if a word ends in `at` and is followed by white space and another character.
fn has_stack_frame(lower: &str) -> bool {
    // The byte order mark is white space in JavaScript.
    let is_blank = |each: char| each.is_whitespace() || each == '\u{feff}';
    lower.match_indices("at").any(|(start, word)| {
        let rest = lower.get(start + word.len()..).unwrap_or_default();
        rest.starts_with(is_blank) && rest.contains(|each| !is_blank(each))
    })
}

/// Matches `.ts:12`, `.js:12`, `.rs:12`.
fn has_line_number(lower: &str) -> bool {
    [".ts:", ".js:", ".rs:", ".py:"].iter().any(|suffix| {
        lower.match_indices(suffix).any(|(start, matched)| {
            let rest = lower.get(start + matched.len()..).unwrap_or_default();
            rest.starts_with(|next: char| next.is_ascii_digit())
        })
    })
}

/// Matches `TypeError`, `RuntimeException`: a camel-case word that ends like the error class of a language.
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
    fn text_from_the_inside_is_recognized() {
        // REQ-CNF-09, REQ-ERR-04
        for message in [
            "boom at line 3",
            "at Object.<anonymous> (/app/x.js:3:1)",
            "in /src/store",
            "panicked at 'x'",
            "TypeError: x",
            "IoError: x",
            "a ReferenceError",
            "std.rs:12",
            "Traceback (most recent call last): File \"/srv/app.py\", line 3, in f",
            "x.TS:1",
            "a/node_modules/b",
            "that is",
            "needs the format date",
            "repeat\u{a0}it",
            "at\u{feff}\n x",
        ] {
            assert!(leaks_internals(message), "{message}");
        }
    }

    #[test]
    fn names_of_callers_are_repeated_without_such_words() {
        // REQ-ERR-04
        for name in [
            "latypeerrorafter",
            "syntaxerror",
            "my_referenceerror",
            "TypeError",
            "IoError",
            "stack backtrace",
            "x at y",
            "/src/x",
            "x.ts:1",
        ] {
            let shown = crate::text::clean(name);
            assert!(!leaks_internals(&format!("Unknown parameter '{shown}'")), "{shown}");
        }
        assert_eq!(crate::text::clean("error_rate"), "error_rate");
    }

    #[test]
    fn ordinary_sentences_pass() {
        // REQ-ERR-04
        for message in [
            "What, then",
            "The format",
            "the form of it: that",
            "a flattened atlas",
            "data to show",
            "Internal error",
            "Parameter 'title' expected 'string', got 'number'",
        ] {
            assert!(!leaks_internals(message), "{message}");
        }
    }
}
