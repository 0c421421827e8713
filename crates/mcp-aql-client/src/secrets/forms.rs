//! The forms in which a secret may occur in a text.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::alphabet::{self, Alphabet};
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode_byte, utf8_percent_encode};
use serde_json::Value;

use super::names::{MIN_SECRET_BYTES, is_common_value};

/// The minimum length of an encoded form, in bytes; shorter ones occur by chance.
const MIN_ENCODED_BYTES: usize = 8;
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A form of a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub(super) text: String,
    /// Whether the characters next to the form encode bits of the secret, together with those of the data around it: the
    /// one before it, and the one after it.
    pub(super) shares: (bool, bool),
}

impl From<String> for Form {
    fn from(text: String) -> Self {
        Self { text, shares: (false, false) }
    }
}

/// Returns the forms in which a text may occur: those of [`written_forms`], with all characters escaped in JSON, in URLs,
/// in hexadecimal digits, and in base64, also as a part of the encoded data.
pub(super) fn forms(text: &str) -> Vec<Form> {
    let mut forms = written_forms(text);
    for text in variants(text).filter(|text| text.len() >= MIN_SECRET_BYTES) {
        forms.extend(url_forms(text).into_iter().map(Form::from));
        forms.extend(escaped_entirely(text).into_iter().map(Form::from));
        let encoded = digit_forms(text).into_iter();
        forms.extend(encoded.filter(|form| form.text.len() >= MIN_ENCODED_BYTES));
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Returns the forms of a text without encoding it: unchanged, in JSON and nested JSON, joined into
/// one line and line by line.
pub(super) fn written_forms(text: &str) -> Vec<Form> {
    let mut forms = Vec::new();
    for text in variants(text) {
        let once = escaped(text);
        forms.extend([text.to_owned(), escaped(&once), once]);
        let mut parts = Vec::new();
        if text.contains(char::is_whitespace) {
            parts.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        if text.contains('\n') {
            parts.extend(text.lines().map(|line| line.trim().to_owned()));
        }
        forms.extend(parts.into_iter().filter(|part| !is_common_value(part)));
    }
    forms.into_iter().map(Form::from).collect()
}

/// Returns a text without surrounding blanks, and with them if there are any.
fn variants(text: &str) -> impl Iterator<Item = &str> {
    let trimmed = text.trim();
    let is_blank = trimmed.is_empty();
    [trimmed].into_iter().chain((trimmed != text).then_some(text)).filter(move |_| !is_blank)
}

fn url_forms(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for set in [UNRESERVED, NON_ALPHANUMERIC] {
        let encoded = utf8_percent_encode(text, set).to_string();
        forms.extend([encoded.replace("%20", "+"), lower_escapes(&encoded), encoded]);
    }
    let entirely: String = text.bytes().map(percent_encode_byte).collect();
    forms.extend([entirely.to_lowercase(), entirely]);
    forms
}

/// Returns a text with each character as an escape of JSON, `\u0061`, with small and with capital digits.
fn escaped_entirely(text: &str) -> [String; 2] {
    let (mut small, mut capital) = (String::new(), String::new());
    for unit in text.encode_utf16() {
        // Writing to a `String` cannot fail.
        let _ = write!(small, "\\u{unit:04x}");
        let _ = write!(capital, "\\u{unit:04X}");
    }
    [small, capital]
}

fn digit_forms(text: &str) -> Vec<Form> {
    let mut digits = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        // Writing to a `String` cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    let mut encoded = vec![Form::from(digits.to_uppercase()), Form::from(digits)];
    for alphabet in [&alphabet::STANDARD, &alphabet::URL_SAFE] {
        encoded.extend((0..3).map(|offset| base64_core(text, offset, alphabet)));
    }
    encoded
}

/// Escapes a text as inside a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Returns percent-escapes with lower-case digits: `%2f`.
fn lower_escapes(encoded: &str) -> String {
    let mut lower = String::with_capacity(encoded.len());
    let mut digits = 0_u8;
    for each in encoded.chars() {
        lower.push(if digits > 0 { each.to_ascii_lowercase() } else { each });
        digits = if each == '%' { 2 } else { digits.saturating_sub(1) };
    }
    lower
}

/// Returns the base64 characters that a text determines if it starts at this byte of a group of
/// three.
fn base64_core(text: &str, offset: usize, alphabet: &Alphabet) -> Form {
    let bytes = [[0; 2].get(..offset).unwrap_or_default(), text.as_bytes()].concat();
    let encoded = GeneralPurpose::new(alphabet, NO_PAD).encode(&bytes);
    // A character encodes six bits. Those that also encode bits of other bytes are left out, and known to be there.
    let (first, last) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
    let text = encoded.get(first..last).unwrap_or_default().to_owned();
    Form { text, shares: (offset > 0, bytes.len() * 8 % 6 > 0) }
}
