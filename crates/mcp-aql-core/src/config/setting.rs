//! The settings of an adapter for its operator: their keys, their values, and where these were set.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};

/// A setting, with its key in the configuration file.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The key, `limits.max_request_size`.
    pub key: String,
    /// The value in use. Secrets are masked.
    pub value: Value,
    /// The value if nothing sets it.
    pub default: Value,
    /// Whether the values of all sources are joined. Otherwise the last one replaces the others.
    pub is_joined: bool,
}

impl Setting {
    /// Creates a setting that a source replaces.
    pub fn new(key: impl Into<String>, value: impl Into<Value>, default: impl Into<Value>) -> Self {
        let (key, value, default) = (key.into(), value.into(), default.into());
        Self { key, value, default, is_joined: false }
    }

    /// Creates a list to which each source adds.
    pub fn joined(key: impl Into<String>, values: impl IntoIterator<Item = Value>) -> Self {
        let values = values.into_iter().collect();
        Self { is_joined: true, ..Self::new(key, Value::Array(values), json!([])) }
    }

    /// Returns the sources of the value, of those that have set the key: the last one, or all if their values are joined.
    pub fn sources_of_value(&self, mut sources: Vec<SettingSource>) -> Vec<SettingSource> {
        sources.dedup();
        if !self.is_joined {
            sources.drain(..sources.len().saturating_sub(1));
        }
        if sources.is_empty() {
            sources.push(SettingSource::Default);
        }
        sources
    }
}

/// The place where a setting was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// Nowhere.
    Default,
    /// In the program, with the builder.
    Program,
    /// In this file of the operator.
    File(PathBuf),
    /// In this file of the working directory, which can only make an adapter stricter.
    WorkingDirectory(PathBuf),
    /// In this environment variable.
    Environment(String),
    /// With this flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for SettingSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::Program => formatter.write_str("program"),
            Self::File(path) => write!(formatter, "file {}", path.display()),
            Self::WorkingDirectory(path) => {
                write!(formatter, "working directory {}", path.display())
            }
            Self::Environment(name) => write!(formatter, "environment {name}"),
            Self::Flag(flag) => write!(formatter, "flag {flag}"),
        }
    }
}

/// The configuration files that were read, and the keys that files and the environment have set, in their order.
#[derive(Debug, Clone, Default)]
pub struct ConfigSources {
    /// The files.
    pub files: Vec<PathBuf>,
    set: Vec<(String, SettingSource)>,
}

impl ConfigSources {
    /// Records that a source has set a key.
    pub(crate) fn record(&mut self, key: impl Into<String>, source: SettingSource) {
        self.set.push((key.into(), source));
    }

    /// Records all keys of a file: those of its tables by their path, and its lists as a whole.
    pub(crate) fn record_file(&mut self, tables: &Value, source: &SettingSource) {
        let mut open = vec![(String::new(), tables)];
        while let Some((path, value)) = open.pop() {
            match value {
                Value::Object(members) => open.extend(members.iter().map(|(name, value)| {
                    let path =
                        if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    (path, value)
                })),
                _ => self.record(path, source.clone()),
            }
        }
    }

    /// Returns the sources that have set a key or a part of it.
    pub fn of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a SettingSource> {
        let is_part = move |set: &str| {
            set.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.set.iter().filter(move |(set, _)| is_part(set)).map(|(_, source)| source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_a_file_are_those_of_its_tables() {
        let mut sources = ConfigSources::default();
        let file = SettingSource::File("/etc/tasks.toml".into());
        let tables = json!({ "tool_prefix": "a_", "limits": { "result_budget": 1 }, "quotas": [{ "warn": 1 }] });
        sources.record_file(&tables, &file);
        let variable = SettingSource::Environment("MCP_AQL_TOOL_PREFIX".to_owned());
        sources.record("tool_prefix", variable.clone());
        for (key, expected) in [
            ("tool_prefix", vec![&file, &variable]),
            ("limits.result_budget", vec![&file]),
            ("limits.result", vec![]),
            ("quotas", vec![&file]),
            ("quotas.warn", vec![]),
        ] {
            assert_eq!(sources.of(key).collect::<Vec<_>>(), expected, "{key}");
        }
        assert_eq!(variable.to_string(), "environment MCP_AQL_TOOL_PREFIX");
    }
}
