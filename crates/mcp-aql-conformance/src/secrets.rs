//! Masks the secrets of a run: values of environment variables, of arguments and of the configuration.
//!
//! Reports must not contain them. More secrets become known during a run.

use std::sync::{PoisonError, RwLock};

use mcp_aql_client::secrets::{Masker, PossibleSecret};
use serde_json::Value;

/// The strings to mask.
#[derive(Debug, Default)]
pub(crate) struct Secrets(RwLock<KnownSecrets>);

#[derive(Default)]
struct KnownSecrets {
    texts: Vec<String>,
    masker: Masker,
}

/// Omits the secrets.
impl std::fmt::Debug for KnownSecrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KnownSecrets").finish_non_exhaustive()
    }
}

impl Secrets {
    pub(crate) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let secrets = Self::default();
        secrets.add(texts);
        secrets
    }

    /// Adds strings to mask.
    fn add(&self, texts: impl IntoIterator<Item = String>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let count = known.texts.len();
        for text in texts {
            if !known.texts.contains(&text) {
                known.texts.push(text);
            }
        }
        if known.texts.len() > count {
            known.masker = Masker::new(known.texts.iter().map(String::as_str));
        }
    }

    /// Adds all strings and numbers in a value.
    pub(crate) fn add_value(&self, value: &Value) {
        let mut texts = Vec::new();
        collect_texts(value, &mut texts);
        self.add(texts);
    }

    /// Masks secrets in a string.
    pub(crate) fn mask(&self, text: &mut String) {
        self.0.read().unwrap_or_else(PoisonError::into_inner).masker.mask_in(text);
    }

    /// Returns a string with masked secrets.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.0.read().unwrap_or_else(PoisonError::into_inner).masker.mask(text).into_owned()
    }

    /// Masks secrets in a value.
    pub(crate) fn mask_value(&self, value: &mut Value) {
        self.0.read().unwrap_or_else(PoisonError::into_inner).masker.mask_value(value);
    }
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Number(number) => texts.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => {
            members.values().for_each(|member| collect_texts(member, texts));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Returns only the certain secrets among possible ones.
pub(crate) fn certain(values: impl IntoIterator<Item = PossibleSecret>) -> Vec<String> {
    values.into_iter().filter(|value| value.is_secret).map(|value| value.text).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_added_during_a_run_are_masked() {
        let secrets = Secrets::new(["p\"4ss".to_owned(), "true".to_owned()]);
        secrets.add_value(&json!({ "a": [7, "4711"], "b": null }));
        let mut value = json!({
            "plain": "say p\"4ss, true", "raw": json!({ "a": "p\"4ss" }).to_string(),
            "short": "7", "in it": "17 of 7", "pin": 4711, "p\"4ss": [true, null, 7],
        });
        secrets.mask_value(&mut value);
        assert_eq!(
            value,
            json!({
                "plain": "say ***, ***", "raw": "{\"a\":\"***\"}", "short": "***",
                "in it": "17 of 7", "pin": "***", "***": [true, null, "***"],
            })
        );
        assert_eq!(secrets.masked("4711"), "***");
        assert!(!format!("{secrets:?}").contains("4711"));
    }

    #[test]
    fn only_certain_secrets_are_collected() {
        let words = ["--token", "abcd", "--db=test.db", "postgres://me:pw@host/db"];
        let found = certain(PossibleSecret::of_command_line(words));
        assert!(["abcd", "pw"].iter().all(|text| found.iter().any(|it| it == text)));
        assert!(!found.contains(&"test.db".to_owned()));
    }
}
