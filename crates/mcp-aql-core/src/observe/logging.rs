//! Log lines: their format on the command line, and their targets.

use std::str::FromStr;

/// Log target of calls. Their outcome is logged, and at the level `DEBUG` also their parameters with secrets masked.
pub const CALLS: &str = "mcp_aql::call";

/// Returns `true` if each call is logged. The transports only record where calls come from in this case.
pub fn logs_calls() -> bool {
    tracing::enabled!(target: CALLS, tracing::Level::INFO)
}

/// Prefixes of the log targets of libraries that transport requests, replies or statements.
///
/// At levels below `WARN`, these libraries log them unmasked, including sensitive parameters and confirmation tokens.
/// The commands never show these lines, even if a filter names the target.
pub const QUOTING_TARGETS: [&str; 15] = [
    "rmcp",
    "hyper",
    "h2",
    "h3",
    "tower",
    "axum",
    "reqwest",
    "rustls",
    "tonic",
    "tungstenite",
    "tokio_tungstenite",
    "tokio_postgres",
    "sqlx",
    "mongodb",
    "redis",
];

/// Format of the log on standard error. If your program installs its own `tracing` subscriber, that subscriber
/// determines the format instead. Operators choose it with `log_format` in the configuration file, with the variable
/// `MCP_AQL_LOG_FORMAT`, or with the option `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
