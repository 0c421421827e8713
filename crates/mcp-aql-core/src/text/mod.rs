//! Makes strings safe to repeat in messages, for example names sent by clients.

mod const_text;
mod leaks;

pub(crate) use const_text::ConstText;
pub use leaks::leaks_internals;
pub(crate) use leaks::screened;
use serde_json::Value;

/// Returns a name sent by a client in a form safe to repeat in a message.
///
/// The result has at most 64 characters. Other characters than letters, digits, spaces and common signs are replaced:
///
/// ```text
/// due_date     →  due_date
/// <b>\n        →  <b>?
/// TypeError    →  type_error
/// ```
pub fn clean(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    // In such a name, every word that looks like a leak contains `error`.
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
    // A parameter may be named `TypeError`, and would look like a leaked error class.
    match leaks_internals(&name) {
        true => name.to_lowercase().replace("error", "_error"),
        false => name,
    }
}

/// Returns at most 64 characters of a string sent by a client, without control characters.
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

/// Maximum length of a string parsed as JSON to explain an error, in bytes.
const MAX_PARSED_BYTES: usize = 64 << 10;

/// Parses a string as JSON, to explain why it is rejected as a string. Long strings are not parsed.
pub fn parsed_json(text: &str) -> Option<Value> {
    let is_short = text.len() <= MAX_PARSED_BYTES;
    is_short.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Compares two byte strings in constants.
pub const fn const_eq(left: &[u8], right: &[u8]) -> bool {
    match (left, right) {
        ([], []) => true,
        ([first, left @ ..], [other, right @ ..]) => *first == *other && const_eq(left, right),
        _ => false,
    }
}
