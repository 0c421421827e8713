//! Replaces secrets in strings and JSON values.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, Match};
use serde_json::Value;

use super::forms::{Form, forms, written_forms};
use super::{MIN_SECRET_BYTES, is_common_value};

/// Replacement of a secret.
const MASK: &str = "***";

/// Removes characters invisible to a reader.
type Clean = fn(&str) -> Cow<'_, str>;

/// Replaces secrets by `***` in all forms in which they may occur: unchanged, in JSON, in URLs, in
/// hexadecimal digits and in base64. Overlapping forms are replaced together.
///
/// A form of less than four bytes is only replaced if it is the whole string, because it occurs in
/// many words by chance.
///
/// ```
/// use mcp_aql_client::secrets::Masker;
///
/// let masker = Masker::new(["hunter2", "7"]);
/// assert_eq!(masker.mask("login hunter2"), "login ***");
/// assert_eq!(masker.mask("7"), "***");
/// assert_eq!(masker.mask("17 of 7"), "17 of 7");
/// ```
#[derive(Clone, Default)]
pub struct Masker {
    /// The search for long forms, or `None` without any.
    forms: Option<AhoCorasick>,
    /// For each of these forms, the characters that it shares; see [`Form::shares`].
    shares: Vec<(bool, bool)>,
    short_forms: BTreeSet<String>,
    /// If `true`, there are too many forms for one search, so every string is masked completely.
    masks_all: bool,
    clean: Option<Clean>,
}

/// Omits the secrets.
impl fmt::Debug for Masker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Masker").finish_non_exhaustive()
    }
}

impl Masker {
    /// Creates a masker for these secrets. If you are not sure that all of them are secrets, use
    /// [`except_common`](Self::except_common).
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self::from_forms(texts.into_iter().flat_map(forms))
    }

    /// Creates a masker that leaves common values readable, such as `true`, short numbers and
    /// existing paths. Use this if the strings may be harmless settings, for example all values of
    /// an environment.
    ///
    /// ```
    /// use mcp_aql_client::secrets::Masker;
    ///
    /// let masker = Masker::except_common(["true", "hunter2"]);
    /// assert_eq!(masker.mask("true hunter2"), "true ***");
    /// ```
    pub fn except_common<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let forms = texts.into_iter().flat_map(|text| match is_common_value(text) {
            true => written_forms(text),
            false => forms(text),
        });
        Self::from_forms(forms.filter(|form| !is_common_value(&form.text)))
    }

    fn from_forms(forms: impl Iterator<Item = Form>) -> Self {
        let (long, short): (Vec<_>, Vec<_>) =
            forms.partition(|form| form.text.len() >= MIN_SECRET_BYTES);
        let short_forms = short.into_iter().map(|form| form.text).collect();
        if long.is_empty() {
            return Self { short_forms, ..Self::default() };
        }
        let built = AhoCorasick::new(long.iter().map(|form| &form.text));
        let shares = long.iter().map(|form| form.shares).collect();
        Self { masks_all: built.is_err(), forms: built.ok(), shares, short_forms, clean: None }
    }

    /// Also masks secrets split by characters that `clean` removes. This applies to
    /// [`mask_in`](Self::mask_in) and [`mask_value`](Self::mask_value).
    ///
    /// ```
    /// use std::borrow::Cow;
    ///
    /// use mcp_aql_client::secrets::Masker;
    ///
    /// fn without_zero_width(text: &str) -> Cow<'_, str> {
    ///     Cow::Owned(text.replace('\u{200b}', ""))
    /// }
    ///
    /// let masker = Masker::new(["hunter2"]).with_cleaning(without_zero_width);
    /// let mut line = "hun\u{200b}ter2 logged in".to_owned();
    /// masker.mask_in(&mut line);
    /// assert_eq!(line, "*** logged in");
    /// ```
    #[must_use]
    pub fn with_cleaning(mut self, clean: Clean) -> Self {
        self.clean = Some(clean);
        self
    }

    /// Returns `true` if there is nothing to mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.forms.is_none() && self.short_forms.is_empty() && !self.masks_all
    }

    /// Returns the string without secrets. It is borrowed if it contains none.
    #[must_use]
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.masks_all || self.short_forms.contains(text) {
            return Cow::Borrowed(MASK);
        }
        let Some(forms) = &self.forms else { return Cow::Borrowed(text) };
        let mut found: Vec<_> =
            forms.find_overlapping_iter(text).map(|found| self.range_of(&found, text)).collect();
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut masked = String::with_capacity(text.len());
        let mut end = 0;
        for range in found {
            if range.start >= end {
                masked.push_str(text.get(end..range.start).unwrap_or_default());
                masked.push_str(MASK);
            }
            end = end.max(range.end);
        }
        masked.push_str(text.get(end..).unwrap_or_default());
        Cow::Owned(masked)
    }

    /// Returns the range to mask for a match: the form and the characters that it shares.
    fn range_of(&self, found: &Match, text: &str) -> Range<usize> {
        let (before, after) =
            self.shares.get(found.pattern().as_usize()).copied().unwrap_or_default();
        let is_digit = |place: Option<usize>| {
            let byte = place.and_then(|place| text.as_bytes().get(place));
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte))
        };
        let start = found.start() - usize::from(before && is_digit(found.start().checked_sub(1)));
        start..found.end() + usize::from(after && is_digit(Some(found.end())))
    }

    /// Masks secrets in a string.
    pub fn mask_in(&self, text: &mut String) {
        if let Some(masked) = self.changed(text) {
            *text = masked;
        }
        if let Some(clean) = self.clean
            && let Cow::Owned(clean) = clean(text)
            && let Some(masked) = self.changed(&clean)
        {
            *text = masked;
        }
    }

    /// Masks secrets in all strings, numbers and member names of a JSON value.
    pub fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.mask_in(text),
            Value::Number(number) => {
                if self.changed(&number.to_string()).is_some() {
                    *value = MASK.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_value(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.mask_value(member));
                let masked: Vec<_> = members
                    .keys()
                    .filter_map(|name| Some((name.clone(), self.changed(name)?)))
                    .collect();
                for (name, masked) in masked {
                    if let Some(member) = members.remove(&name) {
                        members.insert(masked, member);
                    }
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Returns the masked string, or `None` if there was nothing to mask.
    fn changed(&self, text: &str) -> Option<String> {
        let masked = self.mask(text);
        (masked != text).then(|| masked.into_owned())
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::*;

    #[test]
    fn short_secrets_are_masked_as_whole_texts_only() {
        let masker = Masker::new(["p\"4ss", "7", "4711"]);
        let mut value = json!({
            "plain": "say p\"4ss twice: p\"4ss", "raw": json!({ "a": "p\"4ss" }).to_string(),
            "short": "7", "in it": "17 of 7", "pin": 4711, "p\"4ss": [true, null, 7],
        });
        masker.mask_value(&mut value);
        assert_eq!(
            value,
            json!({
                "plain": "say *** twice: ***", "raw": "{\"a\":\"***\"}", "short": "***",
                "in it": "17 of 7", "pin": "***", "***": [true, null, "***"],
            })
        );
    }

    #[test]
    fn common_encodings_are_masked() {
        let secret = "s3cr3t/v+lue \"x\" ü";
        let masker = Masker::new([secret]);
        let env = format!("HOME=/\nAPI_KEY={secret}\nLANG=C");
        let json = json!({ "env": env }).to_string();
        for (shows, text) in [
            ("as it is", env.clone()),
            ("in JSON", json.clone()),
            ("in JSON in JSON", json!({ "text": json }).to_string()),
            ("in a URL", "x=s3cr3t%2Fv%2Blue%20%22x%22%20%C3%BC&y".to_owned()),
            ("with small letters", "x=s3cr3t%2fv%2blue%20%22x%22%20%c3%bc&y".to_owned()),
            ("in a form", "x=s3cr3t%2Fv%2Blue+%22x%22+%C3%BC&y".to_owned()),
            (
                "in a URL, entirely",
                format!("x={}&y", escapes(secret.bytes(), |it| format!("%{it:02X}"))),
            ),
            ("with small letters", escapes(secret.bytes(), |it| format!("%{it:02x}"))),
            ("in JSON, entirely", escapes(secret.encode_utf16(), |it| format!("\\u{it:04x}"))),
            ("capital ones", escapes(secret.encode_utf16(), |it| format!("\\u{it:04X}"))),
            ("in hexadecimal digits", env.bytes().map(|it| format!("{it:02x}")).collect()),
            ("capital ones", env.bytes().map(|it| format!("{it:02X}")).collect()),
        ] {
            let masked = masker.mask(&text);
            assert!(masked.contains(MASK) && !masked.contains("s3cr3t"), "{shows}: {masked}");
            assert!(
                !masked.contains(['%', '\\']) || shows.contains("in JSON"),
                "{shows}: {masked}"
            );
        }
        // The secret may start at any position of the encoded data.
        for before in ["", "a", "ab", "abc"] {
            for engine in [&STANDARD, &URL_SAFE_NO_PAD] {
                let encoded = engine.encode(format!("{before}{secret} and more"));
                let masked = masker.mask(&encoded);
                let rest: String = masked.split(MASK).collect();
                assert!(masked.contains(MASK), "{before}: {masked}");
                // No remaining character encodes a bit of the secret: there are only those of the
                // other bytes.
                let others = before.len() * 8 / 6 + (" and more".len() * 8).div_ceil(6);
                assert!(rest.trim_end_matches('=').len() <= others, "{before}: {masked}");
                let decoded = engine.decode(rest.trim_end_matches('=')).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&decoded).contains("cr3"), "{before}: {masked}");
            }
        }
    }

    fn escapes<T>(units: impl Iterator<Item = T>, escape: impl Fn(T) -> String) -> String {
        units.map(escape).collect()
    }

    #[test]
    fn lines_and_surrounding_blanks_are_ignored() {
        let key = "-----BEGIN KEY-----\nab\"cd\\ef\n  ghij\n}\n-----END KEY-----\n";
        let masker = Masker::new([key]);
        let folded = key.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in [key, key.trim(), &folded, "ghij"] {
            assert_eq!(masker.mask(text).trim(), MASK, "{text}");
        }
        assert_eq!(masker.mask("}"), "}");
    }

    #[test]
    fn overlapping_secrets_are_masked_together() {
        let masker = Masker::new(["abcd", "bcdefgh", "hunter2", "hunter2-long"]);
        assert_eq!(masker.mask("abcdefghi abcd"), "***i ***");
        assert_eq!(masker.mask("hunter2-long and hunter2hunter2"), "*** and ******");
        assert_eq!(masker.mask("nothing"), "nothing");
    }

    #[test]
    fn secrets_split_by_invisible_characters_are_masked() {
        fn clean(text: &str) -> Cow<'_, str> {
            match text.contains('\u{200b}') {
                true => Cow::Owned(text.replace('\u{200b}', "")),
                false => Cow::Borrowed(text),
            }
        }
        let masker = Masker::new(["hunter2"]).with_cleaning(clean);
        let mut value = json!(["hun\u{200b}ter2 a", "plain\u{200b}"]);
        masker.mask_value(&mut value);
        assert_eq!(value, json!(["*** a", "plain\u{200b}"]));
    }

    #[test]
    fn common_values_stay_readable_on_request() {
        let texts = ["true", "5000", "/", "a\"b", "hunter2"];
        let masker = Masker::except_common(texts);
        let text = "true 5000 / a\"b 74727565 hunter2";
        assert_eq!(masker.mask(text), "true 5000 / a\"b 74727565 ***");
        // This form is long enough not to be a common value.
        assert_eq!(masker.mask(r#"a\"b"#), MASK);
        assert_eq!(masker.mask("/"), "/");
        assert_eq!(Masker::new(texts).mask(text), "*** *** / a\"b *** ***");
    }

    #[test]
    fn without_secrets_nothing_is_masked() {
        let masker = Masker::new(["", "  "]);
        assert!(masker.is_empty());
        assert!(matches!(masker.mask("text"), Cow::Borrowed("text")));
        assert!(!Masker::new(["a"]).is_empty());
    }
}
