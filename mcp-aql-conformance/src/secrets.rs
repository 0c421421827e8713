//! What no report may show: values that came from the environment, and what else is said to be secret.

use std::sync::{PoisonError, RwLock};

use serde_json::Value;

/// What stands for a secret.
const MASK: &str = "***";
/// A text that is shorter is masked only where it is all of a value: else half of a report would be.
const SHORTEST: usize = 4;
/// What is in the names of variables, headers and options whose values are secrets,
const PARTS: [&str; 7] =
    ["token", "secret", "passw", "passphrase", "apikey", "credential", "authorization"];
/// or one word of them.
const WORDS: [&str; 6] = ["key", "auth", "pass", "pwd", "cookie", "bearer"];

/// Texts that are masked wherever they would be told.
#[derive(Debug, Default)]
pub(crate) struct Secrets(RwLock<Vec<String>>);

impl Secrets {
    pub(crate) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let secrets = Self::default();
        texts.into_iter().for_each(|text| secrets.add(&text));
        secrets
    }

    /// Adds a text, and how it looks inside of JSON, and of JSON in JSON.
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
        // One secret may be part of another.
        all.sort_by_key(|text| std::cmp::Reverse(text.len()));
    }

    /// Adds what is in a value.
    pub(crate) fn add_value(&self, value: &Value) {
        match value {
            Value::String(text) => self.add(text),
            Value::Number(number) => self.add(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Object(members) => members.values().for_each(|member| self.add_value(member)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Masks what is in a text.
    pub(crate) fn mask(&self, text: &mut String) {
        for secret in self.0.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if text == secret {
                MASK.clone_into(text);
            } else if secret.len() >= SHORTEST && text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), MASK);
            }
        }
    }

    /// The text, masked.
    pub(crate) fn masked(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.mask(&mut text);
        text
    }

    /// Masks what is in a value.
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

/// Whether what is named so is a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
        || name.split(|each: char| !each.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// What of a command line is secret: what follows `--token`, what `API_KEY=` gives, the password of a URL.
pub(crate) fn of_words<'w>(words: impl Iterator<Item = &'w str>) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_next = false;
    for word in words {
        let is_value = std::mem::take(&mut is_next) && !word.starts_with('-');
        if is_value {
            found.push(word.to_owned());
        } else if word.contains(char::is_whitespace) {
            // A line for a shell.
            found.extend(of_words(word.split_whitespace()));
        } else if let Some((name, value)) = word.split_once('=')
            && is_secret(name)
        {
            found.push(value.trim_matches(['"', '\'']).to_owned());
        } else {
            is_next = word.starts_with('-') && is_secret(word);
            found.extend(password(word));
        }
    }
    found
}

/// The password in a URL: `scheme://user:password@host`.
fn password(word: &str) -> Option<String> {
    let (_, rest) = word.split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    Some(user.split_once(':')?.1.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_however_they_are_written() {
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
    fn of_a_command_line_what_is_secret_is_known_by_its_name() {
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
            "postgres://me:pw@host/db?a=b@c",
        ];
        let found = of_words(words.into_iter());
        assert_eq!(found, ["abcd", "s3cret pass", "hunter2", "efgh'", "pw"]);
    }
}
