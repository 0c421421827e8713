//! The flags of `serve` that set keys of the configuration file, made from the declarations of the keys.

use clap::{Arg, ArgAction, ArgMatches};
use mcp_aql_core::internal::adapter::{check_value, flag_keys};
use mcp_aql_core::internal::config::{Flag, Key, ValueKind};
use mcp_aql_core::{Adapter, Result};
use serde_json::Value;

/// The key that switches sessions off.
const STATELESS: &str = "http.stateless";

/// The given flags that set keys of the configuration file, such as `--max-sessions` for `http.max_sessions`.
#[derive(Debug, Clone, Default)]
pub struct SettingFlags(pub(super) Vec<(&'static Key, Flag, Value)>);

/// Returns the keys with flags of `serve`. Without the feature `http`, its flags are missing.
fn keys() -> impl Iterator<Item = (&'static Key, Flag)> {
    let keys = flag_keys().filter_map(|key| Some((key, key.flag?)));
    keys.filter(|(key, flag)| !flag.is_global && (cfg!(feature = "http") || !is_of_http(key)))
}

/// Returns `true` if a key belongs to serving over HTTP.
pub(super) fn is_of_http(key: &Key) -> bool {
    key.path.starts_with("http.")
}

impl SettingFlags {
    /// Returns a clone of the adapter with the values of the flags.
    pub(super) fn apply(&self, adapter: &Adapter) -> Result<Adapter> {
        adapter.with_flags(self.0.iter().map(|(key, _, value)| (*key, value.clone())))
    }
}

impl clap::Args for SettingFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        let defaults = mcp_aql_core::internal::adapter::flag_defaults();
        keys().fold(command, |command, (key, flag)| {
            let default = defaults.iter().find(|(path, _)| *path == key.path);
            command.arg(argument(key, flag, default.map_or(&Value::Null, |(_, value)| value)))
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let given = |(key, flag): (&'static Key, Flag)| {
            let value = match key.kind {
                ValueKind::Switch => matches.get_flag(key.path).then_some(Value::Bool(true)),
                ValueKind::List => {
                    let lists = matches.get_many::<Value>(key.path)?;
                    Some(lists.filter_map(Value::as_array).flatten().cloned().collect())
                }
                _ => matches.get_one::<Value>(key.path).cloned(),
            };
            Some((key, flag, value?))
        };
        Ok(Self(keys().filter_map(given).collect()))
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the argument for a key.
fn argument(key: &'static Key, flag: Flag, default: &Value) -> Arg {
    let mut help = key.summary().replace('`', "");
    if default.is_number() {
        help = format!("{help} [default: {default}]");
    }
    let argument = Arg::new(key.path).long(flag.name.trim_start_matches('-')).help(help);
    let argument = if is_of_http(key) { argument.help_heading("HTTP") } else { argument };
    let argument = if flag.needs_sessions { argument.conflicts_with(STATELESS) } else { argument };
    let action = match key.kind {
        ValueKind::Switch => return argument.action(ArgAction::SetTrue),
        ValueKind::List => ArgAction::Append,
        _ => ArgAction::Set,
    };
    let parser = move |text: &str| -> std::result::Result<Value, String> {
        let value = key.parse(text)?;
        check_value(key, value.clone())?;
        Ok(value)
    };
    let argument = argument.value_name(flag.value_name).allow_negative_numbers(true);
    argument.action(action).value_parser(parser)
}
