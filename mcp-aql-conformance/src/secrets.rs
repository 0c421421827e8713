//! The masking of secrets in reports: values of environment variables and configured secrets.

use std::sync::{PoisonError, RwLock};

use serde_json::Value;

/// The replacement of a secret.
const MASK: &str = "***";
/// The minimum length of a secret that is masked inside longer texts, in bytes.
const MIN_SECRET_BYTES: usize = 4;
/// Substrings in names of variables, headers and options with secret values.
const PARTS: [&str; 7] =
    ["token", "secret", "passw", "passphrase", "apikey", "credential", "authorization"];
/// Words in such names.
const WORDS: [&str; 6] = ["key", "auth", "pass", "pwd", "cookie", "bearer"];

/// The texts to mask.
#[derive(Debug, Default)]
pub(crate) struct Secrets(RwLock<Vec<String>>);

impl Secrets {
    pub(crate) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let secrets = Self::default();
        texts.into_iter().for_each(|text| secrets.add(&text));
        secrets
    }

    /// Adds a text and its forms inside JSON, and JSON inside JSON.
    pub(crate) fn add(&self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let once = escaped(text);
        for form in [text.to_owned(), escaped(&once), once] {
            if !all.contains(&form) {
                all.push(form);
            }
        }
        // Long secrets are replaced first because they may contain shorter ones.
        all.sort_by_key(|text| std::cmp::Reverse(text.len()));
    }

    /// Adds all texts of a value.
    pub(crate) fn add_value(&self, value: &Value) {
        match value {
            Value::String(text) => self.add(text),
            Value::Number(number) => self.add(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Object(members) => members.values().for_each(|member| self.add_value(member)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Masks secrets in a text.
    pub(crate) fn mask(&self, text: &mut String) {
        for secret in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if text == secret {
                MASK.clone_into(text);
            } else if secret.len() >= MIN_SECRET_BYTES && text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), MASK);
            }
        }
    }

    /// Returns the masked text.
    pub(crate) fn masked(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.mask(&mut text);
        text
    }

    /// Masks secrets in a value.
    pub(crate) fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.mask(text),
            Value::Number(number) => {
                let text = number.to_string();
                if self.masked(&text) != text {
                    *value = MASK.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_value(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|member| self.mask_value(member));
                let named: Vec<_> =
                    members.keys().filter(|name| self.masked(name) != **name).cloned().collect();
                for name in named {
                    if let Some(member) = members.remove(&name) {
                        members.insert(self.masked(&name), member);
                    }
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// Whether a variable, header or option of this name is secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
        || name.split(|each: char| !each.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// The secrets in a command line: the values after `--token`, `API_KEY=` and `Authorization:`, and the
/// password and the keys of a URL.
pub(crate) fn of_words<'w>(words: impl Iterator<Item = &'w str>) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_next = false;
    for word in words {
        let is_value = std::mem::take(&mut is_next) && !word.starts_with('-');
        let given = word.split_once(['=', ':']).filter(|(name, value)| {
            !name.contains(char::is_whitespace) && !value.starts_with("//") && is_secret(name)
        });
        if is_value {
            add_value(word, &mut found);
        } else if let Some((_, value)) = given {
            add_value(value, &mut found);
        } else if word.contains(char::is_whitespace) || word.contains(QUOTES) {
            // A command line for a shell.
            found.extend(of_words(shell_words(word).iter().map(String::as_str)));
        } else {
            is_next = (word.starts_with('-') && is_secret(word)) || is_scheme(word);
            found.extend(of_url(word));
        }
    }
    found
}

const QUOTES: [char; 2] = ['"', '\''];

/// Adds a value, and the credentials after a scheme such as `Bearer`.
fn add_value(value: &str, found: &mut Vec<String>) {
    let value = value.trim().trim_matches(QUOTES).trim();
    found.push(value.to_owned());
    if let Some((scheme, rest)) = value.split_once(char::is_whitespace)
        && is_scheme(scheme)
    {
        found.push(rest.trim().to_owned());
    }
}

/// Whether a word is an authentication scheme.
fn is_scheme(word: &str) -> bool {
    word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic")
}

/// The words of a line without quotes.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        match quote {
            Some(open) if open == letter => quote = None,
            None if QUOTES.contains(&letter) => quote = Some(letter),
            None if letter.is_whitespace() => words.push(String::new()),
            _ => {
                if let Some(word) = words.last_mut() {
                    word.push(letter);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The secrets in a URL: the password, and values of query parameters with secret names.
fn of_url(word: &str) -> Vec<String> {
    let Some((_, rest)) = word.split_once("://") else { return Vec::new() };
    let host = rest.split(['/', '?', '#']).next().and_then(|host| host.rsplit_once('@'));
    let password = host.and_then(|(user, _)| user.split_once(':')).map(|(_, password)| password);
    let query = rest.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let given = query.split(['&', '#']).filter_map(|pair| pair.split_once('='));
    let keys = given.filter(|(name, _)| is_secret(name)).map(|(_, value)| value);
    password.into_iter().chain(keys).flat_map(|text| [text.to_owned(), decoded(text)]).collect()
}

/// Decodes percent-encoding.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn masks_secrets_in_all_forms() {
        let secrets = Secrets::new(["p\"4ss".to_owned(), "7".to_owned(), "4711".to_owned()]);
        let mut value = json!({
            "plain": "say p\"4ss twice: p\"4ss", "raw": json!({ "a": "p\"4ss" }).to_string(),
            "short": "7", "in it": "17 of 7", "pin": 4711, "p\"4ss": [true, null, 7],
        });
        secrets.mask_value(&mut value);
        assert_eq!(
            value,
            json!({
                "plain": "say *** twice: ***", "raw": "{\"a\":\"***\"}", "short": "***",
                "in it": "17 of 7", "pin": "***", "***": [true, null, "***"],
            })
        );
    }

    #[test]
    fn finds_secrets_in_command_lines_by_name() {
        let words = [
            "env",
            "API_KEY=abcd",
            "tool",
            "--token",
            "s3cret pass",
            "--db=test.db",
            "--password=hunter2",
            "--key-file",
            "--verbose",
            "--author",
            "somebody",
            "sh -c 'x --auth-token efgh'",
            "x --auth-token \"ij kl\" --verbose",
            "--header",
            "Authorization: Bearer mnop",
            "X-Api-Key:qrst",
            "curl -H 'Authorization: Basic uvwx' http://host/",
            "say Bearer yzAB",
            "http://host/mcp?page=1&api_key=CD%2FEF",
        ];
        assert_eq!(
            of_words(words.into_iter()),
            [
                "abcd",
                "s3cret pass",
                "hunter2",
                "efgh",
                "ij kl",
                "Bearer mnop",
                "mnop",
                "qrst",
                "Basic uvwx",
                "uvwx",
                "yzAB",
                "CD%2FEF",
                "CD/EF",
            ]
        );
        assert_eq!(of_words(["postgres://me:p%77@host/db?a=b@c"].into_iter()), ["p%77", "pw"]);
    }
}
