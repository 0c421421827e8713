//! The format of the log lines written by the command line.

use std::str::FromStr;

use serde::Deserialize;

/// Format of the log on standard error. If your program installs its own `tracing` subscriber, that subscriber
/// determines the format instead.
///
/// ```
/// use mcp_aql::Adapter;
/// use mcp_aql::observe::LogFormat;
///
/// # fn main() -> mcp_aql::Result<()> {
/// let adapter = Adapter::builder("empty").log_format(LogFormat::Json).build()?;
/// # let _ = adapter;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogFormat {
    /// Lines for people. By default, warnings and errors are logged.
    #[default]
    Text,
    /// JSON objects, one per line. By default, warnings, errors and a line for each call are logged.
    Json,
}

impl LogFormat {
    /// Names of the formats in the configuration file.
    pub const NAMES: [&str; 2] = [Self::Text.as_str(), Self::Json.as_str()];

    /// Returns the name of the format in the configuration file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("write `text` or `json`".to_owned()),
        }
    }
}
