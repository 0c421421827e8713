//! Detection of text that would reveal the inside of an adapter, such as stack frames and paths.

/// Whether text looks as if it came from the adapter's insides: a stack frame, an error of a programming
/// language, a path of source code.
///
/// Constructors of [`OperationError`](struct@crate::OperationError) keep such text out of messages where it comes
/// in at run time, as an identifier or the answer of another service. Descriptions, constraints and names
/// that stand in the source code of the adapter are never filtered.
///
/// Words that a sentence may have pass. The protocol's own conformance runner is cruder: it rejects every
/// message with `at` before a word, also in "format date".
///
/// ```
/// assert!(mcp_aql::testing::leaks_internals("boom at line 3"));
/// assert!(mcp_aql::testing::leaks_internals("panicked at src/main.rs:3:5"));
/// assert!(!mcp_aql::testing::leaks_internals("It begins at the beginning"));
/// ```
///
/// Source: REQ-CNF-09, REQ-ERR-04 (choice C-10).
pub fn leaks_internals(message: &str) -> bool {
    let lower = message.to_ascii_lowercase();
    ["/src/", "/node_modules/", "panicked at", "stack backtrace", "traceback (most recent"]
        .iter()
        .any(|fragment| lower.contains(fragment))
        || has_stack_frame(&lower)
        || has_line_number(&lower)
        || has_error_class(message)
}

/// The full message, or the plain one where run-time text in the full one would look like a leak or would
/// break the line. That text stays in the details.
pub(crate) fn screened(full: String, plain: impl FnOnce() -> String) -> String {
    if leaks_internals(&full) || full.chars().any(char::is_control) { plain() } else { full }
}

/// The word `at` with a place of source code behind it: a path, a qualified name, a line, an address.
fn has_stack_frame(lower: &str) -> bool {
    let mut words = lower.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let is_at = word.trim_start_matches(|each: char| !each.is_alphanumeric()) == "at";
        let Some(place) = words.peek().filter(|_| is_at) else { continue };
        let place = place.trim_matches(|each| "'\"`(),;".contains(each));
        if place == "line" || is_code_place(place) {
            return true;
        }
    }
    false
}

fn is_code_place(place: &str) -> bool {
    let is_path = ["/", "\\", "./", "../", "0x", "<anonymous>"];
    let is_drive = || place.get(1..3).is_some_and(|rest| rest == ":\\" || rest == ":/");
    let file = || {
        // `main.rs:12`, `app.py:3:5`
        let (file, line) = place.split_once(':')?;
        let digits = line.starts_with(|each: char| each.is_ascii_digit());
        let extension = file.rsplit_once('.')?.1;
        Some(digits && extension.starts_with(|each: char| each.is_ascii_alphabetic()))
    };
    is_path.iter().any(|start| place.starts_with(start))
        || place.contains("::")
        || place.contains(".<")
        || is_drive()
        || file().unwrap_or(false)
}

/// `.ts:12`, `.js:12`, `.rs:12`
fn has_line_number(lower: &str) -> bool {
    [".ts:", ".js:", ".rs:", ".py:"].iter().any(|suffix| {
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
    fn text_from_the_inside_is_recognized() {
        // REQ-CNF-09, REQ-ERR-04
        for message in [
            "boom at line 3",
            "at Object.<anonymous> (/app/x.js:3:1)",
            "    at com.example.Main.run(Main.java:12)",
            "at main.rs:12",
            "failed at (app.py:3)",
            "in /src/store",
            "panicked at 'x'",
            "thread 'main' panicked at lib.rs:1:1",
            "at tokio::runtime::task",
            "at 0x7fff12345678",
            "at C:\\app\\main.cs",
            "at /srv/app/main",
            "TypeError: x",
            "std.rs:12",
            "Traceback (most recent call last)",
            "a/node_modules/b",
        ] {
            assert!(leaks_internals(message), "{message}");
        }
    }

    #[test]
    fn ordinary_sentences_pass() {
        // REQ-ERR-04
        for message in [
            "What to do",
            "It starts at the beginning",
            "that is",
            "needs the format date",
            "a flat",
            "at 10:30",
            "at least 3 of 4",
            "look at me",
            "at https://example.com/docs",
            "at and/or behind",
            "Internal error",
            "Parameter 'title' expected 'string', got 'number'",
        ] {
            assert!(!leaks_internals(message), "{message}");
        }
    }
}
