//! Computes the cause of a finding: the part of its messages shared by cases that differ only in their subjects.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Finding, MAX_MESSAGE_BYTES};

/// Minimum length of a subject's word to be removed from messages. Shorter words would match by accident.
const MIN_TERM_CHARS: usize = 2;

/// Returns a short hash. Findings with the same cause have the same hash.
///
/// The hash is stable between runs, because baselines refer to it.
pub(super) fn fingerprint(finding: &Finding) -> String {
    let terms = terms(finding);
    let mut key = skeleton(start(&finding.fix), &terms);
    if finding.differences.is_empty() {
        key.push('\n');
        key.push_str(&skeleton(start(&finding.expected), &terms));
    }
    let differences = finding.differences.iter().map(|difference| {
        let is_missing = difference.received.is_none();
        format!("\n{} {} {is_missing}", steps(&difference.path), difference.expected)
    });
    key.extend(differences.collect::<BTreeSet<_>>());
    if let Some(code) = finding.received.pointer("/error/code") {
        key.push_str(&format!("\n{code}"));
    }
    shared(&key)
}

/// Returns the hash of a cause that several checks share, identified by `key`.
pub(super) fn shared(key: &str) -> String {
    format!("{:016x}", fnv(key.as_bytes()))
}

/// Returns the words that identify the subject: the words of its name, and the strings of the request.
fn terms(finding: &Finding) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    let mut add = |text: &str| {
        terms.extend(
            words(start(text)).filter(|word| word.len() >= MIN_TERM_CHARS).map(str::to_owned),
        );
    };
    add(&finding.subject);
    for name in ["/tool", "/arguments/operation", "/arguments/params/name"] {
        if let Some(text) = finding.sent.pointer(name).and_then(Value::as_str) {
            add(text);
        }
    }
    terms
}

/// Returns the first [`MAX_MESSAGE_BYTES`] characters.
///
/// Some checks send strings of several megabytes. Splitting all of their words took a third of the time of a run.
fn start(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_MESSAGE_BYTES).map(|(end, _)| end);
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

/// Returns `true` if a character is part of a word. A name in snake case, camel case or kebab case is one word.
fn is_of_word(each: char) -> bool {
    each.is_alphanumeric() || each == '_' || each == '-'
}

/// Returns the words of a string.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|each: char| !is_of_word(each)).filter(|word| !word.is_empty())
}

/// Removes the parts of a message that depend on the case: numbers, quoted values, and the words of the subject.
///
/// Outside of code, plain English words are kept, because they may equal a word of the subject by accident.
fn skeleton(message: &str, terms: &BTreeSet<String>) -> String {
    let mut kept = String::new();
    let mut rest = message;
    let mut is_code = false;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '{' | '[' => nested_length(rest),
            '"' => quoted_length(rest),
            _ if first.is_alphanumeric() || first == '_' => {
                let end = rest.find(|each: char| !is_of_word(each));
                let (word, _) = rest.split_at(end.unwrap_or(rest.len()));
                let is_subject = terms.contains(word) && (is_code || word.contains('_'));
                match is_subject || word.bytes().all(|byte| byte.is_ascii_digit()) {
                    true => kept.push('·'),
                    false => kept.push_str(word),
                }
                word.len()
            }
            _ => {
                is_code ^= first == '`';
                kept.push(first);
                first.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    kept
}

/// Returns the length of the JSON value in brackets at the start of a string, or the whole length if it does not end.
fn nested_length(text: &str) -> usize {
    let (mut depth, mut in_quotes, mut is_escaped) = (0_usize, false, false);
    for (at, each) in text.char_indices() {
        match each {
            _ if is_escaped => is_escaped = false,
            '\\' if in_quotes => is_escaped = true,
            '"' => in_quotes = !in_quotes,
            '{' | '[' if !in_quotes => depth += 1,
            '}' | ']' if !in_quotes => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of the quoted string at the start, or of the opening quote if the closing one is missing.
fn quoted_length(text: &str) -> usize {
    let end = text.char_indices().skip(1).find(|(_, each)| *each == '"');
    end.map_or(1, |(at, _)| at + 1)
}

/// Replaces the list indexes of a JSON pointer by `*`.
fn steps(path: &str) -> String {
    let is_index = |step: &str| step.bytes().all(|byte| byte.is_ascii_digit()) && !step.is_empty();
    path.split('/')
        .map(|step| if is_index(step) { "*" } else { step })
        .collect::<Vec<_>>()
        .join("/")
}

/// Computes the FNV-1a hash. Unlike the hash of the standard library, it is the same in every version of the runner.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Difference;
    use super::*;

    fn finding(subject: &str, expected: &str) -> Finding {
        Finding::shown(subject, Value::Null).expected(expected).fix("generate the list")
    }

    #[test]
    fn findings_that_differ_in_their_subject_have_one_cause() {
        let of = |subject: &str, expected: &str| fingerprint(&finding(subject, expected));
        let in_list = |name: &str| of(name, &format!("`{name}` in the list, or a failure"));
        assert_eq!(in_list("get_bed"), in_list("water_bed"));
        assert_eq!(of("tool `a_b`", "missing: [\"x\", \"[\"]"), of("tool `c`", "missing: []"));
        assert_eq!(of("a", "the same as {\"a\":{\"b\":\"}\"}}"), of("a", "the same as {}"));
        // A name in kebab case is one word.
        let moved = "move it into `error.details`";
        assert_eq!(of("get-bed-details", moved), of("water_bed", moved));
        assert_eq!(of("a", "at most 20 items"), of("a", "at most 7 items"));
        assert_ne!(of("a", "a failure"), of("a", "a success"));
        assert_ne!(of("a", "`/error` is missing"), of("a", "`/data` is missing"));
        // Unclosed brackets and quotes must not cause a panic.
        for text in ["[[", "\"", "{\"", "]}", "é\"é", "\\"] {
            let _ = of(text, text);
        }
    }

    #[test]
    fn the_beginning_of_a_long_text_identifies_a_cause() {
        let of = |text: &str| fingerprint(&finding("a", text));
        let long = "é".repeat(MAX_MESSAGE_BYTES);
        assert_eq!(of(&format!("{long} x")), of(&format!("{long} y")));
        let shorter = "é".repeat(MAX_MESSAGE_BYTES - 2);
        assert_ne!(of(&shorter), of(&format!("{shorter} x")));
    }

    #[test]
    fn cause_follows_from_the_differing_members() {
        let of = |path: &str, expected: &str, text: &str| {
            let difference =
                Difference { path: path.to_owned(), expected: expected.to_owned(), received: None };
            fingerprint(&Finding { differences: vec![difference], ..finding("x", text) })
        };
        let first = of("/data/0/name", "a string", "the entry 0 has a name");
        assert_eq!(first, of("/data/17/name", "a string", "another message"));
        assert_ne!(first, of("/data/0/title", "a string", "the entry 0 has a name"));
        assert_ne!(first, of("/data/0/name", "a number", "the entry 0 has a name"));
    }

    #[test]
    fn received_codes_distinguish_causes() {
        let of = |code: &str| {
            let received = json!({ "success": false, "error": { "code": code } });
            fingerprint(&Finding { received, ..finding("x", "a success") })
        };
        assert_eq!(of("INTERNAL_ERROR"), of("INTERNAL_ERROR"));
        assert_ne!(of("INTERNAL_ERROR"), of("NOT_FOUND_RESOURCE"));
    }

    #[test]
    fn fingerprint_is_stable() {
        // Baselines contain this hash.
        assert_eq!(fingerprint(&finding("get_bed", "`get_bed` in the list")).len(), 16);
        assert_eq!(format!("{:016x}", fnv(b"a")), "af63dc4c8601ec8c");
    }
}
