//! Mistakes in a configuration, and the paths at which they occur.

use std::fmt;

use crate::names::QuotedName;

/// Maximum number of mistakes reported. If there are more, they usually have one cause.
const MAX_FAULTS: usize = 100;

/// The error of an invalid configuration. You can print it as it is: it lists all mistakes, one per
/// line.
///
/// ```
/// use mcp_aql_aggregator::Config;
///
/// let error = Config::from_json(
///     r#"{"mcpServers": {"a": {"comand": "x"}}, "aggregator": {"maxResults": 500}}"#,
///     &|_| None,
/// )
/// .unwrap_err();
/// let paths: Vec<_> = error.faults().iter().map(|fault| fault.path()).collect();
/// assert_eq!(paths, ["mcpServers.a", "aggregator.maxResults"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    faults: Vec<Fault>,
}

impl ConfigError {
    /// Creates an error with one entry.
    pub(crate) fn of(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { faults: vec![Fault { path: path.into(), message: message.into() }] }
    }

    /// Returns all mistakes, in the order of the file.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, fault) in self.faults.iter().enumerate() {
            if place > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// One mistake in a configuration: its location, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    path: String,
    message: String,
}

impl Fault {
    /// Returns the location, for example `mcpServers.docs.url` or `aggregator.rules[0].match`.
    /// Empty for the file itself.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns a message that says what is wrong and what to write.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.message)
    }
}

/// Collects the mistakes in a configuration.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn add(&mut self, path: &ConfigPath<'_>, message: impl Into<String>) {
        if self.0.len() < MAX_FAULTS {
            self.0.push(Fault { path: path.to_string(), message: message.into() });
        }
    }

    /// Adds a mistake at `below`, a path relative to `path`.
    pub(super) fn add_below(&mut self, path: &ConfigPath<'_>, below: &str, message: String) {
        if self.0.len() < MAX_FAULTS {
            let below = mcp_aql_text::visible(below);
            self.0.push(Fault { path: format!("{path}{below}"), message });
        }
    }

    pub(super) fn into_result(self) -> Result<(), ConfigError> {
        if self.0.is_empty() { Ok(()) } else { Err(ConfigError { faults: self.0 }) }
    }
}

/// A path in the file. It is formatted only when it is reported.
#[derive(Debug, Clone, Copy)]
pub(super) enum ConfigPath<'a> {
    Root,
    Member(&'a ConfigPath<'a>, &'a str),
    Item(&'a ConfigPath<'a>, usize),
}

impl ConfigPath<'_> {
    pub(super) fn member<'a>(&'a self, name: &'a str) -> ConfigPath<'a> {
        ConfigPath::Member(self, name)
    }

    pub(super) fn item(&self, place: usize) -> ConfigPath<'_> {
        ConfigPath::Item(self, place)
    }
}

impl fmt::Display for ConfigPath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Item(above, place) => write!(formatter, "{above}[{place}]"),
            Self::Member(above, name) => {
                let is_plain = !name.is_empty()
                    && name.len() <= 100
                    && name.chars().all(|each| each.is_alphanumeric() || "_-$@/".contains(each));
                if !is_plain {
                    return write!(formatter, "{above}[{}]", QuotedName(name));
                }
                if !matches!(above, Self::Root) {
                    write!(formatter, "{above}.")?;
                }
                formatter.write_str(name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_the_file() {
        let root = ConfigPath::Root;
        let servers = root.member("mcpServers");
        let odd = servers.member("my server.x");
        let args = odd.member("args");
        assert_eq!(args.item(2).to_string(), r#"mcpServers["my server.x"].args[2]"#);
        assert_eq!(servers.member("a-b_1").to_string(), "mcpServers.a-b_1");
        assert_eq!(servers.member("\u{1b}[2J").to_string(), r#"mcpServers["\u{1b}[2J"]"#);
    }

    #[test]
    fn a_path_below_another_contains_no_control_characters() {
        let mut faults = Faults::default();
        faults.add_below(&ConfigPath::Root.member("calls"), ".\u{1b}[2J", "is wrong".to_owned());
        let path = faults.0[0].path();
        assert!(path.starts_with("calls.") && !path.contains('\u{1b}'), "{path}");
    }
}
