//! The settings of the HTTP server for `config show`, with their sources.

use mcp_aql_core::Adapter;
use mcp_aql_core::internal::adapter::HttpTable;
use mcp_aql_core::internal::config::{Setting, SettingSource};
use mcp_aql_server::HttpOptions;
use serde_json::{Value, json};

use super::HttpArgs;

/// A flag of the command line, with the key of the table `http` that it overrides.
pub(super) struct Flag {
    pub(super) name: &'static str,
    key: &'static str,
    /// The value. `None` if the flag is not given.
    pub(super) value: Option<Value>,
}

/// The keys without an effect if there are no sessions.
const SESSION_KEYS: [&str; 6] = [
    "max_sessions",
    "max_sessions_per_principal",
    "session_timeout_seconds",
    "reply_retention_seconds",
    "max_kept_replies_mib",
    "max_kept_replies_per_session_mib",
];

impl Flag {
    /// Returns `true` if the flag is given and has no effect without sessions.
    pub(super) fn needs_sessions(&self) -> bool {
        self.value.is_some() && SESSION_KEYS.contains(&self.key)
    }
}

impl HttpArgs {
    /// Returns the flags of the HTTP server.
    pub(super) fn flags(&self) -> Vec<Flag> {
        let list = |values: &[String]| (!values.is_empty()).then(|| json!(values));
        let on = |flag: bool| flag.then_some(Value::Bool(true));
        let number = |value: Option<usize>| value.map(Value::from);
        let seconds = |value: Option<u64>| value.map(Value::from);
        let (per_principal, kept) = (self.max_sessions_per_principal, self.max_kept_replies);
        let kept_of_session = number(self.max_kept_replies_per_session);
        let of_session = ("--max-kept-replies-per-session", "max_kept_replies_per_session_mib");
        let all = [
            ("--http", "address", self.http.map(|address| json!(address))),
            ("--allow-host", "allow_hosts", list(&self.allow_host)),
            ("--allow-origin", "allow_origins", list(&self.allow_origin)),
            ("--allow-remote", "allow_remote", on(self.allow_remote)),
            ("--insecure-anonymous", "insecure_anonymous", on(self.insecure_anonymous)),
            ("--stateless", "stateless", on(self.stateless)),
            ("--max-sessions", "max_sessions", number(self.max_sessions)),
            ("--max-sessions-per-principal", "max_sessions_per_principal", number(per_principal)),
            ("--session-timeout", "session_timeout_seconds", seconds(self.session_timeout)),
            ("--client-timeout", "client_timeout_seconds", seconds(self.client_timeout)),
            ("--max-connections", "max_connections", number(self.max_connections)),
            ("--stop-delay", "stop_delay_seconds", seconds(self.stop_delay)),
            ("--max-inflight", "max_inflight_mib", number(self.max_inflight)),
            ("--reply-retention", "reply_retention_seconds", seconds(self.reply_retention)),
            ("--max-kept-replies", "max_kept_replies_mib", number(kept)),
            (of_session.0, of_session.1, kept_of_session),
        ];
        all.map(|(name, key, value)| Flag { name, key, value }).into()
    }

    /// Returns the settings with their sources.
    pub(in super::super) fn settings(
        &self,
        adapter: &Adapter,
    ) -> Vec<(Setting, Vec<SettingSource>)> {
        let sources = &adapter.settings().sources;
        let (configured, defaults) = (json!(adapter.settings().http), json!(defaults()));
        let value_of = |table: &Value, key| table.get(key).cloned().unwrap_or_default();
        let entry = |Flag { name, key, value: flag }| {
            let path = format!("http.{key}");
            let mut recorded: Vec<_> = sources.of(&path).cloned().collect();
            recorded.extend(flag.is_some().then_some(SettingSource::Flag(name)));
            let setting = match value_of(&configured, key) {
                // The hosts of the command line are added to those of the configuration file.
                Value::Array(configured) => {
                    let given = flag.as_ref().and_then(Value::as_array).cloned();
                    Setting::joined(path, configured.into_iter().chain(given.unwrap_or_default()))
                }
                configured => {
                    let default = value_of(&defaults, key);
                    let configured = Some(configured).filter(|value| !value.is_null());
                    let value = flag.or(configured).unwrap_or_else(|| default.clone());
                    Setting::new(path, value, default)
                }
            };
            let sources = setting.sources_of_value(recorded);
            (setting, sources)
        };
        self.flags().into_iter().map(entry).collect()
    }
}

/// Returns the table `http` with all default values. The struct literal is complete, so that a new key without a
/// default does not compile. If you add a key, add its flag to [`HttpArgs::flags`], too.
fn defaults() -> HttpTable {
    HttpTable {
        address: None,
        allow_remote: Some(false),
        allow_hosts: Vec::new(),
        allow_origins: Vec::new(),
        insecure_anonymous: Some(false),
        stateless: Some(false),
        max_sessions: Some(HttpOptions::DEFAULT_MAX_SESSIONS),
        max_sessions_per_principal: Some(HttpOptions::DEFAULT_MAX_SESSIONS_PER_PRINCIPAL),
        session_timeout_seconds: Some(HttpOptions::DEFAULT_SESSION_TIMEOUT_SECONDS),
        client_timeout_seconds: Some(HttpOptions::DEFAULT_CLIENT_TIMEOUT_SECONDS),
        max_connections: Some(HttpOptions::DEFAULT_MAX_CONNECTIONS),
        max_inflight_mib: Some(HttpOptions::DEFAULT_MAX_INFLIGHT_MIB),
        stop_delay_seconds: Some(0),
        reply_retention_seconds: Some(HttpOptions::DEFAULT_REPLY_RETENTION_SECONDS),
        max_kept_replies_mib: Some(HttpOptions::DEFAULT_MAX_KEPT_REPLY_MIB),
        max_kept_replies_per_session_mib: Some(HttpOptions::DEFAULT_MAX_KEPT_REPLY_MIB_PER_SESSION),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_key_of_the_table_has_a_flag_and_is_listed() {
        let adapter = Adapter::builder("empty").without_config().build().unwrap();
        let listed = HttpArgs::default().settings(&adapter);
        let listed: BTreeSet<_> = listed.iter().map(|(setting, _)| setting.key.clone()).collect();
        let table = json!(HttpTable::default());
        let keys = table.as_object().unwrap().keys().map(|key| format!("http.{key}"));
        assert_eq!(listed, keys.collect::<BTreeSet<_>>());
    }

    #[test]
    fn the_defaults_are_those_in_the_help() {
        use clap::Args as _;
        let command = HttpArgs::augment_args(clap::Command::new("serve"));
        let defaults = json!(defaults());
        for flag in HttpArgs::default().flags() {
            let name = flag.name.trim_start_matches('-');
            let argument = command.get_arguments().find(|it| it.get_long() == Some(name)).unwrap();
            let help = argument.get_help().unwrap().to_string();
            let conflicts = command.get_arg_conflicts_with(argument);
            let excludes = conflicts.iter().any(|it| it.get_long() == Some("stateless"));
            assert_eq!(excludes, SESSION_KEYS.contains(&flag.key), "{name} with --stateless");
            if let Value::Number(default) = &defaults[flag.key] {
                assert!(help.ends_with(&format!("[default: {default}]")), "{name}: {help}");
            }
        }
    }
}
