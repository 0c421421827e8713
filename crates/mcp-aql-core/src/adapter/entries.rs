//! Lists the settings of an adapter for its operator.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Adapter, Settings, default_description_budget};
use crate::config::setting::{ConfigSources, Setting, SettingSource};

#[doc(hidden)]
impl Adapter {
    /// Returns all settings that a configuration file can set, with their sources. The HTTP server lists its own
    /// settings.
    pub fn config_entries(&self) -> Vec<(Setting, Vec<SettingSource>)> {
        let settings = self.settings();
        let program = self.inner.parts.settings.listed();
        let entries = settings.listed().into_iter();
        let is_in_program = |setting: &Setting| {
            program.iter().any(|own| own.key == setting.key && own.value != own.default)
        };
        entries
            .map(|setting| {
                let program = is_in_program(&setting);
                let sources = sources(&setting, &settings.sources, program);
                (settings.with_effective_value(setting), sources)
            })
            .collect()
    }
}

/// Returns the sources of a setting's value.
fn sources(setting: &Setting, recorded: &ConfigSources, program: bool) -> Vec<SettingSource> {
    let base = program.then_some(SettingSource::Program);
    let all = base.into_iter().chain(recorded.of(&setting.key).cloned());
    setting.sources_of_value(all.collect())
}

impl Settings {
    /// Fills in the effective value of an unset setting that depends on other settings.
    fn with_effective_value(&self, mut setting: Setting) -> Setting {
        if setting.value.is_null() {
            setting.value = match &*setting.key {
                "description_budget" => json!(default_description_budget(self.mode)),
                key => self.gate.value_without_setting(key),
            };
        }
        setting
    }

    /// Lists the settings with their values and defaults.
    pub(super) fn listed(&self) -> Vec<Setting> {
        let default = Self::default();
        // JSON cannot represent a path outside of UTF-8, so the path is shown as a string.
        let audit_log = self.audit_log.as_ref().map(|path| path.path().display().to_string());
        let mut all = vec![
            Setting::new("endpoint_mode", self.mode.as_str(), default.mode.as_str()),
            Setting::new("endpoint_profile", &*self.profile, default.profile),
            Setting::new("tool_prefix", &*self.tool_prefix, ""),
            Setting::new("strict_mode", self.strict, default.strict),
            Setting::new("structured_content", self.structured_content, default.structured_content),
            Setting::new("description_budget", self.description_budget, Value::Null),
            Setting::new(
                "drain_timeout_seconds",
                seconds(self.drain_timeout),
                seconds(default.drain_timeout),
            ),
            Setting::new("audit_log", audit_log, Value::Null),
            Setting::new("log_format", self.log_format.as_str(), default.log_format.as_str()),
        ];
        all.extend(self.listed_limits());
        all.extend(self.access.listed());
        all.extend(self.gate.listed());
        all.extend(listed_auth(self.auth.as_ref().map_or(&Value::Null, |(table, _)| table)));
        all.extend(self.extensions.iter().flat_map(|extension| extension.listed()));
        all
    }

    fn listed_limits(&self) -> Vec<Setting> {
        let default = Self::default();
        let (own, base) = (&self.limits, &default.limits);
        let counts = [
            ("limits.max_request_size", own.max_request_size, base.max_request_size),
            ("limits.max_response_size", own.max_response_size, base.max_response_size),
            ("limits.max_string_length", own.max_string_length, base.max_string_length),
            ("limits.max_array_elements", own.max_array_elements, base.max_array_elements),
            ("limits.max_nesting_depth", own.max_nesting_depth, base.max_nesting_depth),
            ("limits.max_batch_operations", own.max_batch_operations, base.max_batch_operations),
            ("limits.result_budget", own.result_budget, base.result_budget),
            ("executions.max_running", self.executions.max_running, default.executions.max_running),
            (
                "executions.max_running_per_session",
                self.executions.max_running_per_session,
                default.executions.max_running_per_session,
            ),
        ];
        let (own, base) = (&self.executions, &default.executions);
        let times = [
            ("executions.wait_seconds", own.wait, base.wait),
            ("executions.grace_seconds", own.grace, base.grace),
            ("executions.lease_seconds", own.lease, base.lease),
            ("executions.keep_seconds", own.keep, base.keep),
        ];
        let sizes = [
            ("executions.keep_bytes", own.keep_bytes, base.keep_bytes),
            (
                "executions.keep_bytes_per_caller",
                own.keep_bytes_per_caller,
                base.keep_bytes_per_caller,
            ),
        ];
        let counts = counts.map(|(key, own, base)| Setting::new(key, own, base));
        let sizes = sizes.map(|(key, own, base)| Setting::new(key, own, base));
        let times = times.map(|(key, own, base)| Setting::new(key, seconds(own), seconds(base)));
        counts.into_iter().chain(times).chain(sizes).collect()
    }
}

/// Converts a duration to seconds, the unit of configuration files.
fn seconds(duration: Duration) -> Value {
    match duration.subsec_nanos() {
        0 => json!(duration.as_secs()),
        _ => json!(duration.as_secs_f64()),
    }
}

/// Keys of the table `auth` with public values. All other values of the table are masked.
const OPEN_AUTH_KEYS: &[&str] = &[
    "auth.resource",
    "auth.jwt.issuer",
    "auth.jwt.audience",
    "auth.jwt.keys_url",
    "auth.jwt.keys_file",
    "auth.jwt.algorithms",
    "auth.jwt.scope_claims",
    "auth.jwt.leeway_seconds",
    "auth.jwt.max_key_age_seconds",
];

/// Lists the table `auth` with masked secrets. The HTTP server checks the table.
fn listed_auth(table: &Value) -> Vec<Setting> {
    let mut open = vec![("auth".to_owned(), table)];
    let mut all = Vec::new();
    while let Some((key, value)) = open.pop() {
        match value {
            Value::Object(members) => {
                open.extend(members.iter().map(|(name, value)| (format!("{key}.{name}"), value)));
            }
            _ if key == "auth.tokens" => {
                let subject =
                    |token: &Value| json!({ "subject": token.get("subject"), "sha256": MASK });
                let tokens = value.as_array().map(Vec::as_slice).unwrap_or_default();
                all.push(Setting::joined(key, tokens.iter().map(subject)));
            }
            Value::Null => all.push(Setting::new(key, Value::Null, Value::Null)),
            _ if OPEN_AUTH_KEYS.contains(&key.as_str()) => {
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
    use super::super::config_test_util::{apply, apply_environment, keys_of, project};
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
            ("auth", Value::Null, "default"),
            ("endpoint_mode", json!("semantic"), "default"),
        ] {
            assert_eq!(shown(&settings, key), (value, vec![source.to_owned()]), "{key}");
        }
    }

    #[test]
    fn each_key_of_the_file_is_listed() {
        let listed = Settings::default().listed();
        let assert_listed = |key: &str| assert!(listed.iter().any(|it| it.key == key), "{key}");
        for key in super::super::config::CORE_KEYS {
            match *key {
                "limits" | "executions" | "access" | "gatekeeper" => {
                    for name in keys_of(key, Settings::default()) {
                        assert_listed(&format!("{key}.{name}"));
                    }
                }
                // The HTTP server lists its own settings.
                "http" => {}
                key => assert_listed(key),
            }
        }
    }

    #[test]
    fn each_table_of_limits_is_listed() {
        use crate::extension::Extension as _;
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
        for table in LimitsExtension::default().tables() {
            let is_listed = settings.listed().iter().any(|it| it.key == *table);
            assert!(is_listed || *table == "rate_limits", "{table}");
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
