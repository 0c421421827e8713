//! Reads and parses one configuration file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_aql_protocol::nearest_name;
use serde::Deserialize;
use serde_json::Value;

use super::file_reader::FileReader;
use crate::adapter::settings::key_list::keys_with;
use crate::config::file_access::read_settings;
use crate::config::setting::{ConfigSources, SettingSource};
use crate::extension::Extension;
use crate::gatekeeper::GateTable;

/// The content of a configuration file.
pub(super) struct ConfigFile {
    /// Path for error messages.
    path: String,
    /// Source of the file. Extensions parse their own tables from it.
    pub(super) text: String,
    /// Values of the declared keys, by path.
    pub(super) values: BTreeMap<&'static str, Value>,
    pub(super) owned: OwnedTables,
}

/// The values with a structure of their own.
#[derive(Debug, Default, Deserialize)]
pub(super) struct OwnedTables {
    pub(super) auth: Option<Value>,
    #[serde(default)]
    pub(super) gatekeeper: GateTable,
}

impl ConfigFile {
    /// Reads a file, and checks that each root key belongs to the adapter or to one of its extensions.
    pub(super) fn read(
        path: &Path,
        extensions: &[Box<dyn Extension>],
        problems: &mut Vec<String>,
    ) -> Result<Self, ConfigError> {
        let path_text = path.display().to_string();
        let text = read_settings(path)
            .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other))
            .map_err(|cause| ConfigError::Unreadable { file: path_text.clone(), cause })?;
        Self::parse(path_text, text, extensions, problems)
    }

    /// Parses the source of a file. Adds a problem for each table of an extension that the adapter does not have.
    pub(super) fn parse(
        path: String,
        text: String,
        extensions: &[Box<dyn Extension>],
        problems: &mut Vec<String>,
    ) -> Result<Self, ConfigError> {
        let malformed = |error| ConfigError::malformed(&path, &error);
        let keys: Vec<_> = keys_with(extensions).collect();
        let mut reader = FileReader {
            keys: &keys,
            optional: EXTENSION_TABLES,
            found: Vec::new(),
            values: BTreeMap::new(),
        };
        reader.read(&text).map_err(malformed)?;
        let FileReader { found, values, .. } = reader;
        problems.extend(found.into_iter().map(|table| {
            format!(
                "`{table}` is configured, and the adapter has no extension that reads it: add \
                 `.{table}(…)`, or remove the table"
            )
        }));
        let owned = toml_edit::de::from_str(&text).map_err(malformed)?;
        Ok(Self { path, text, values, owned })
    }

    /// Returns the folder of the file, and the words for problems with its values.
    pub(super) fn origin(&self) -> (PathBuf, String) {
        (self.folder().to_owned(), format!("configuration file `{}`", self.path))
    }

    /// Records the keys set by this file.
    pub(super) fn record_in(&self, sources: &mut ConfigSources) {
        // `parse` has already parsed the source, so an error cannot occur.
        if let Ok(tables) = toml_edit::de::from_str(&self.text) {
            sources.record_file(&tables, &self.as_source());
        }
    }

    /// Returns the folder of the file. Relative paths in the file are resolved against it.
    pub(super) fn folder(&self) -> &Path {
        Path::new(&self.path).parent().unwrap_or(Path::new(""))
    }

    /// Returns this file as the source of settings.
    pub(super) fn as_source(&self) -> SettingSource {
        SettingSource::File(PathBuf::from(&self.path))
    }

    /// Creates the error for an invalid table of an extension.
    pub(super) fn malformed(&self, error: &toml_edit::de::Error) -> ConfigError {
        ConfigError::malformed(&self.path, error)
    }
}

/// Tables of extensions that only a builder method of the same name can add.
const EXTENSION_TABLES: &[&str] = &["safety_loop"];

/// Errors that make a configuration file unusable.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigError {
    /// The file cannot be read.
    #[error("configuration file `{file}` cannot be read: {cause}")]
    Unreadable {
        /// Path of the file.
        file: String,
        /// Error reported by the system.
        cause: std::io::Error,
    },
    /// The content of the file is invalid.
    #[error("configuration file `{file}`: {message}")]
    Malformed {
        /// Path of the file.
        file: String,
        /// The problem and its position in the file.
        message: String,
    },
}

impl ConfigError {
    fn malformed(file: &str, error: &toml_edit::de::Error) -> Self {
        Self::Malformed { file: file.to_owned(), message: describe_error(error) }
    }
}

/// Describes a problem in a file, with the position, the key and a suggestion:
///
/// ```text
/// TOML parse error at line 1, column 1, at `tool_prefx`: unknown field `tool_prefx`, … Did you mean `tool_prefix`?
/// ```
fn describe_error(error: &toml_edit::de::Error) -> String {
    let message = error.message().trim_end();
    // The error message quotes the line. Its value may be a secret, so only repeat the key.
    let text = error.to_string();
    let mut lines = text.lines();
    let place = lines.next().filter(|line| line.starts_with("TOML parse error at "));
    let key = lines.nth(1).and_then(|line| line.split_once('|')?.1.split_once('='));
    let problem = match (place, key) {
        (Some(place), Some((key, _))) => format!("{place}, at `{}`: {message}", key.trim()),
        (Some(place), None) => format!("{place}: {message}"),
        (None, _) => message.to_owned(),
    };
    match correction_in(message) {
        Some(near) => format!("{problem}. Did you mean `{near}`?"),
        None => problem,
    }
}

/// Finds the known name nearest to an unknown one. The message of serde contains the unknown name, followed by all
/// known names, in backquotes: ``unknown field `a`, expected `b` or `c` ``.
fn correction_in(message: &str) -> Option<&str> {
    let of_names = ["unknown field `", "unknown variant `"];
    of_names.iter().find(|words| message.starts_with(**words))?;
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    nearest_name(unknown, names)
}
