//! Text that is safe to repeat in messages: names that clients send, and texts of errors.

mod const_text;
mod internals;

pub(crate) use const_text::ConstText;
pub use internals::leaks_internals;
pub(crate) use internals::screened;
use serde_json::Value;

/// Returns a name that a client sent in a form that is safe to repeat in a message: at most 64
/// characters, all of them letters, digits, spaces or signs that names contain.
pub fn clean(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    // All words of such a name that look like a leak contain `error`.
    if name.len() <= 64 && name.bytes().all(plain) && !name.contains("error") {
        return name.to_owned();
    }
    let name = shorten(name);
    let replaced = |kept: &str| -> String {
        let is_kept = |each: char| each.is_alphanumeric() || kept.contains(each);
        name.chars().map(|each| if is_kept(each) { each } else { '?' }).collect()
    };
    // Operators of other APIs, and names of several words, are repeated as they were sent.
    let words = replaced("_-.,[]…$=<>!+@#%&*~ ");
    if !leaks_internals(&words) {
        return words;
    }
    let name = replaced("_-.[]…");
    // A parameter may be named `TypeError`, which would look like a leaked error class.
    match leaks_internals(&name) {
        true => name.to_lowercase().replace("error", "_error"),
        false => name,
    }
}

/// Returns at most 64 characters of a text that a client sent, without control characters.
pub(crate) fn shorten(name: &str) -> String {
    const MAX_CHARACTERS: usize = 64;
    let mut text: String = name
        .chars()
        .take(MAX_CHARACTERS)
        .map(|each| if each.is_control() { '?' } else { each })
        .collect();
    if name.chars().nth(MAX_CHARACTERS).is_some() {
        text.push('…');
    }
    text
}

/// The maximum length of a text that is parsed as JSON to explain a fault, in bytes.
const MAX_PARSED_BYTES: usize = 64 << 10;

/// Parses a text that may be JSON, to explain why it is refused as text. Long texts are not parsed.
pub fn parsed_json(text: &str) -> Option<Value> {
    let is_short = text.len() <= MAX_PARSED_BYTES;
    is_short.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Whether two texts are equal, for constants.
pub const fn const_eq(left: &[u8], right: &[u8]) -> bool {
    match (left, right) {
        ([], []) => true,
        ([first, left @ ..], [other, right @ ..]) => *first == *other && const_eq(left, right),
        _ => false,
    }
}
