//! The format of the log lines that the command line writes.

use std::str::FromStr;

use serde::Deserialize;

/// The format of the log on standard error. A program with a `tracing` subscriber of its own formats its log itself.
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
    /// Lines for people. By default, they are warnings and errors.
    #[default]
    Text,
    /// JSON objects, one a line. By default, they are warnings, errors and a line for each call.
    Json,
}

impl LogFormat {
    /// The names of the formats, as in the configuration file.
    pub const NAMES: [&str; 2] = [Self::Text.as_str(), Self::Json.as_str()];

    /// The name of the format, as in the configuration file.
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
