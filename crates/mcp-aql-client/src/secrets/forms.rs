//! Computes the encoded forms in which a secret may occur in output.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::alphabet::{self, Alphabet};
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode_byte, utf8_percent_encode};
use serde_json::Value;

use super::{MIN_SECRET_BYTES, is_common_value};

/// Minimum length of an encoded form in bytes. Shorter ones occur by chance.
const MIN_ENCODED_BYTES: usize = 8;
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// One encoded form of a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub(super) text: String,
    /// For the characters before and after the form: `true` if that character also encodes bits of
    /// the secret. This happens in base64, where such a character depends on the neighboring data
    /// as well.
    pub(super) shares: (bool, bool),
}

impl From<String> for Form {
    fn from(text: String) -> Self {
        Self { text, shares: (false, false) }
    }
}

/// Returns all forms in which a secret may occur. In addition to [`written_forms`], these are URL
/// encodings, complete JSON escapes, hexadecimal digits and base64 at every offset. For the secret
/// `a/b?cde` they include:
///
/// ```text
/// a%2Fb%3Fcde
/// \u0061\u002f\u0062\u003f\u0063\u0064\u0065
/// 612f623f636465
/// YS9iP2NkZ
/// ```
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

/// Returns the forms of a secret without further encoding: unchanged, as in JSON and in nested
/// JSON, joined into one line, and each line on its own.
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

/// Returns a secret without surrounding whitespace, and also unchanged if it has any.
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

/// Escapes every character as in JSON, `\u006a`, with lower-case and with upper-case digits.
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

/// Escapes a string as it is written in JSON, without the quotation marks.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Converts the digits of percent-escapes to lower case: `%2F` → `%2f`.
fn lower_escapes(encoded: &str) -> String {
    let mut lower = String::with_capacity(encoded.len());
    let mut digits = 0_u8;
    for each in encoded.chars() {
        lower.push(if digits > 0 { each.to_ascii_lowercase() } else { each });
        digits = if each == '%' { 2 } else { digits.saturating_sub(1) };
    }
    lower
}

/// Returns the base64 characters determined by the secret alone, if it starts at byte `offset` of a
/// group of three.
fn base64_core(text: &str, offset: usize, alphabet: &Alphabet) -> Form {
    let bytes = [[0; 2].get(..offset).unwrap_or_default(), text.as_bytes()].concat();
    let encoded = GeneralPurpose::new(alphabet, NO_PAD).encode(&bytes);
    // Each character encodes six bits. A first or last one that also encodes neighboring bytes is
    // not part of the form. `shares` records that it exists.
    let (first, last) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
    let text = encoded.get(first..last).unwrap_or_default().to_owned();
    Form { text, shares: (offset > 0, bytes.len() * 8 % 6 > 0) }
}
