//! The settings of an adapter as listed for its operator: keys, values and sources.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};

/// A setting that a configuration file can set.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Key in the configuration file, such as `limits.max_request_size`.
    pub key: String,
    /// Value in use. Secrets are masked.
    pub value: Value,
    /// Value without any source.
    pub default: Value,
    /// If `true`, the values of all sources are combined. If `false`, the last source replaces the others.
    pub is_joined: bool,
}

impl Setting {
    /// Creates a setting with a single value. The last source determines it.
    pub fn new(key: impl Into<String>, value: impl Into<Value>, default: impl Into<Value>) -> Self {
        let (key, value, default) = (key.into(), value.into(), default.into());
        Self { key, value, default, is_joined: false }
    }

    /// Creates a setting with a list of values. Each source adds to the list.
    pub fn joined(key: impl Into<String>, values: impl IntoIterator<Item = Value>) -> Self {
        let values = values.into_iter().collect();
        Self { is_joined: true, ..Self::new(key, Value::Array(values), json!([])) }
    }

    /// Selects the sources of the value from all sources of the key: the last one, or all of them if their values are
    /// combined.
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

/// Where a setting was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// Nowhere. The default applies.
    Default,
    /// In the program, with the builder.
    Program,
    /// In this file of the operator.
    File(PathBuf),
    /// In this file of the working directory. Such a file can only make the adapter stricter.
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

/// The configuration files in use, and the keys set by files and by the environment, in order.
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

    /// Records all keys of a file. Keys in tables are recorded with their paths, and lists as a whole:
    ///
    /// ```text
    /// [limits]
    /// result_budget = 1   → "limits.result_budget"
    /// [[quotas]]
    /// warn = 1            → "quotas"
    /// ```
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

    /// Returns the sources of a key, including the sources of parts of it.
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
