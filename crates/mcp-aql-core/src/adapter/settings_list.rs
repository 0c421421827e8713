//! Lists the settings of an adapter for its operator.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::settings::key_list::{declaration, declarations, keys_with};
use super::settings::owned_keys::{TOKENS, is_public};
use super::{Adapter, Settings};
use crate::config::key::Key;
use crate::config::setting::{ConfigSources, Setting, SettingSource};
use crate::error::main_error::{Error, Result};

#[doc(hidden)]
impl Adapter {
    /// Returns the value of every key of the configuration file, with its sources.
    pub fn config_entries(&self) -> Vec<(Setting, Vec<SettingSource>)> {
        let mut settings = Settings::clone(&self.settings);
        let program = self.inner.parts.settings.listed();
        let is_in_program = |setting: &Setting| {
            program.iter().any(|own| own.key == setting.key && own.value != own.default)
        };
        let listed = settings.listed();
        let entry = |mut setting: Setting| {
            let sources = sources(&setting, &self.settings.sources, is_in_program(&setting));
            if let Some(declaration) = declaration(&setting.key) {
                setting.value = declaration.value_in_use(&mut settings, self.name());
            }
            (setting, sources)
        };
        listed.into_iter().map(entry).collect()
    }

    /// Returns all keys of the configuration file, with their values without any source.
    pub fn keys(&self) -> Vec<(&'static Key, Value)> {
        let mut default = Settings::default();
        let keys = keys_with(&self.settings.extensions);
        let listed: Vec<_> =
            self.settings.extensions.iter().flat_map(|extension| extension.listed()).collect();
        let entry = |key: &'static Key| {
            let of_extension = || listed.iter().find(|it| it.key == key.path);
            let default = match declaration(key.path) {
                Some(declaration) => declaration.value(&mut default),
                None => of_extension().map(|it| it.default.clone()).unwrap_or_default(),
            };
            (key, default)
        };
        keys.map(entry).collect()
    }

    /// Returns a clone with the values of flags, in the unit of the file. They override all other sources. Only
    /// settings for serving have flags, so the adapter need not be built again.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`] if a value is invalid.
    pub fn with_flags(
        &self,
        flags: impl IntoIterator<Item = (&'static Key, Value)>,
    ) -> Result<Self> {
        let mut settings = Settings::clone(&self.settings);
        for (key, value) in flags {
            let (Some(declaration), Some(flag)) = (declaration(key.path), key.flag) else {
                continue;
            };
            let set = declaration.set(&mut settings, value, (Path::new(""), flag.name));
            set.map_err(Error::Usage)?;
            settings.sources.record(key.path, SettingSource::Flag(flag.name));
        }
        Ok(Self { settings: Arc::new(settings), ..self.clone() })
    }
}

/// Returns the sources of a setting's value.
fn sources(setting: &Setting, recorded: &ConfigSources, program: bool) -> Vec<SettingSource> {
    let base = program.then_some(SettingSource::Program);
    let all = base.into_iter().chain(recorded.of(&setting.key).cloned());
    setting.sources_of_value(all.collect())
}

impl Settings {
    /// Lists the settings with their values and defaults.
    pub(super) fn listed(&self) -> Vec<Setting> {
        let (mut settings, mut default) = (self.clone(), Self::default());
        let mut all: Vec<_> = declarations()
            .map(|declaration| declaration.listed(&mut settings, &mut default))
            .collect();
        all.extend(self.gate.listed());
        if let Some((table, _)) = &self.auth {
            all.extend(listed_auth(table));
        }
        all.extend(self.extensions.iter().flat_map(|extension| extension.listed()));
        for key in keys_with(&self.extensions) {
            let is_listed = |setting: &Setting| {
                let rest = setting.key.strip_prefix(key.listed_path());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            if !all.iter().any(is_listed) {
                all.push(Setting::new(key.path, key.default_in_use(), key.default_in_use()));
            }
        }
        all
    }
}

/// Lists the table `auth` with masked secrets. The HTTP server checks the table.
fn listed_auth(table: &Value) -> Vec<Setting> {
    let mut open = vec![("auth".to_owned(), table)];
    let mut all = Vec::new();
    while let Some((key, value)) = open.pop() {
        match value {
            Value::Object(members) => {
                open.extend(members.iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            _ if key == TOKENS => {
                let subject =
                    |token: &Value| json!({ "subject": token.get("subject"), "sha256": MASK });
                let tokens = value.as_array().map(Vec::as_slice).unwrap_or_default();
                all.push(Setting::joined(key, tokens.iter().map(subject)));
            }
            _ if is_public(&key) => {
                all.push(Setting::new(key, without_secrets(value), Value::Null));
            }
            // An unknown key may hold a secret.
            _ => all.push(Setting::new(key, MASK, Value::Null)),
        }
    }
    all.sort_by(|one, other| one.key.cmp(&other.key));
    all
}

/// Shown instead of a secret.
const MASK: &str = "(masked)";

/// Masks the user, the password and the query of URLs. If a secret may be elsewhere in a string, the whole string is
/// masked.
///
/// ```text
/// https://user:word@example.org/keys?key=90ab → https://(masked)@example.org/keys?(masked)
/// ```
fn without_secrets(value: &Value) -> Value {
    match value {
        Value::String(text) => url_without_secrets(text).into(),
        Value::Array(elements) => elements.iter().map(without_secrets).collect(),
        other => other.clone(),
    }
}

fn url_without_secrets(text: &str) -> String {
    let (url, query) = match text.split_once('?') {
        Some((url, _)) => (url, format!("?{MASK}")),
        None => (text, String::new()),
    };
    let Some((start, end)) = url.split_once('@') else { return format!("{url}{query}") };
    match start.split_once("://") {
        Some((scheme, user)) if !user.contains('/') && !end.contains('@') => {
            format!("{scheme}://{MASK}@{end}{query}")
        }
        _ => MASK.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::config_test_util::{apply, apply_environment, project};
    use super::*;

    fn shown(settings: &Settings, key: &str) -> (Value, Vec<String>) {
        let program = Settings::default().listed();
        let setting = settings.listed().into_iter().find(|it| it.key == key).unwrap();
        let program = program.iter().any(|own| own.key == key && own.value != own.default);
        let sources = sources(&setting, &settings.sources, program);
        (setting.value, sources.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn each_setting_names_its_last_source() {
        // REQ-MCP-17
        let mut settings = Settings::default();
        let text = "tool_prefix = 'file_'\nstrict_mode = true\n[limits]\nmax_nesting_depth = 16";
        apply(&mut settings, text, &mut Vec::new());
        let text = "[limits]\nmax_nesting_depth = 8\nmax_request_size = 999999999\n\
                    [[gatekeeper.policies]]\noperation = 'drop_*'\npermission = 'deny'";
        project(&mut settings, text);
        let variable = |name: &str| match name {
            "MCP_AQL_TOOL_PREFIX" => Some("env_".to_owned()),
            "MCP_AQL_LOG_FORMAT" => Some("json".to_owned()),
            _ => None,
        };
        apply_environment(&mut settings, variable, &mut Vec::new());
        for (key, value, source) in [
            ("tool_prefix", json!("env_"), "environment MCP_AQL_TOOL_PREFIX"),
            ("strict_mode", json!(true), "file mcp-aql.toml"),
            ("limits.max_nesting_depth", json!(8), "working directory mcp-aql.toml"),
            ("limits.max_request_size", json!(1_048_576), "default"),
            ("gatekeeper.policies", json!(["deny drop_*"]), "working directory mcp-aql.toml"),
            ("executions.keep_seconds", json!(86_400), "default"),
            ("drain_timeout_seconds", json!(30), "default"),
            ("log_format", json!("json"), "environment MCP_AQL_LOG_FORMAT"),
            ("auth.resource", Value::Null, "default"),
            ("auth.scope_challenges", json!(true), "default"),
            ("endpoint_mode", json!("semantic"), "default"),
        ] {
            assert_eq!(shown(&settings, key), (value, vec![source.to_owned()]), "{key}");
        }
    }

    #[test]
    fn each_key_is_listed() {
        // REQ-MCP-17
        let settings = super::super::config_test_util::extended(
            crate::rate_limits::LimitsExtension::default(),
        );
        let listed = settings.listed();
        for key in keys_with(&settings.extensions) {
            let count = listed.iter().filter(|it| it.key == key.listed_path()).count();
            assert_eq!(count, 1, "{}", key.path);
        }
    }

    #[test]
    fn each_table_of_limits_is_listed() {
        use crate::rate_limits::LimitsExtension;
        let mut settings = super::super::config_test_util::extended(LimitsExtension::default());
        let file = "[rate_limits]\nrequests_per_minute = 5\n\
                    [[api_limits]]\nscope = 'global'\nlimit = 60\nwindow = 'hour'\nburst = 9\n\
                    [[quotas]]\nmetric = 'cost_per_month'\nwarn = 5\nhard_stop = 11\n\
                    [cost]\ncurrency = 'EUR'\nper_call = 0.5";
        apply(&mut settings, file, &mut Vec::new());
        let source = vec!["file mcp-aql.toml".to_owned()];
        for (key, value) in [
            ("api_limits", json!(["global:minute: 5", "global:hour: 60, burst 9"])),
            ("quotas", json!(["cost_per_month: warn 5, hard_stop 11"])),
            ("cost", json!(["per_call 0.5"])),
            ("cost.currency", json!("EUR")),
        ] {
            assert_eq!(shown(&settings, key), (value, source.clone()), "{key}");
        }
    }

    #[test]
    fn secrets_are_masked() {
        let table = json!({
            "resource": "https://tasks.example.org/mcp",
            "tokens": [{ "subject": "ada", "sha256": "9f86d081", "claims": { "pin": "1234" } }],
            "jwt": { "keys_url": "https://user:word@login.example.org/keys?key=90ab", "secret": "5678" },
            "token": "plain",
        });
        let listed = format!("{:?}", listed_auth(&table));
        for secret in ["9f86d081", "1234", "user:word", "90ab", "5678", "plain"] {
            assert!(!listed.contains(secret), "{listed}");
        }
        for open in [
            "ada",
            "https://(masked)@login.example.org/keys?(masked)",
            "https://tasks.example.org/mcp",
        ] {
            assert!(listed.contains(open), "{listed}");
        }
        for (text, masked) in [
            ("https:/ada:word@host/keys", MASK),
            ("https://ada:wo/rd@host", MASK),
            ("https://ada:wo@rd@host", MASK),
            ("host?word", "host?(masked)"),
            ("https://host/keys", "https://host/keys"),
        ] {
            assert_eq!(without_secrets(&json!([text])), json!([masked]));
        }
    }
}
