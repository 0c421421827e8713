//! The configuration: a client's own `mcpServers`, and the `aggregator` section next to it.

mod calls;
mod fault;
mod node;
mod read;
mod reader;
mod servers;
mod settings;
#[cfg(feature = "http")]
mod url;
#[cfg(not(feature = "http"))]
#[path = "without_url.rs"]
mod url;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_aql_core::internal::config::{ForbiddenAccess, SettingPath, exposures, open_regular};
use regex::Regex;

pub use fault::{ConfigError, Fault};

use crate::ask::{CallTemplate, Discovery};

/// Maximum size of a configuration file in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The configured servers and the settings for queries.
///
/// You can use the configuration file of your MCP client as it is. The section `aggregator` is
/// optional.
///
/// ```
/// use mcp_aql_aggregator::Config;
///
/// let config = Config::from_json(
///     r#"{
///       "mcpServers": {
///         "memory": { "command": "mcp-server-memory", "env": { "MEMORY_FILE_PATH": "${HOME}/memory.json" } },
///         "docs": { "type": "http", "url": "${DOCS_URL:-http://127.0.0.1:8800/mcp}" }
///       },
///       "aggregator": {
///         "rules": [{ "match": "(?i)docs|library", "servers": ["docs"] }],
///         "servers": { "memory": { "calls": [{ "tool": "search_nodes", "arguments": { "query": "{keyword}" } }] } }
///       }
///     }"#,
///     &|name| (name == "HOME").then(|| "/home/me".to_owned()),
/// )?;
/// assert_eq!(config.server_names().collect::<Vec<_>>(), ["memory", "docs"]);
/// # Ok::<(), mcp_aql_aggregator::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    /// The servers in the order of the file.
    pub(crate) servers: Vec<ServerConfig>,
    pub(crate) settings: Settings,
}

impl Config {
    /// Reads a configuration file. `${NAME}` expands to variables of this process's environment.
    ///
    /// Logs a warning if other users of the machine can change the file, because it contains the
    /// commands to run.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] with all mistakes in the file. A relative path that contains a link
    /// is an error.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text = read_file(&SettingPath::new(Path::new(""), path)).map_err(|error| {
            ConfigError::of("", format!("cannot read {}: {error}", path.display()))
        })?;
        for problem in exposures(path, ForbiddenAccess::Write) {
            tracing::warn!("the configuration is not safe from other users: {problem}");
        }
        Self::from_json(&text, &|name| std::env::var(name).ok())
    }

    /// Parses the content of a configuration file. `env` looks up the variables for `${NAME}`. Use
    /// this if your configuration is not in a file.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] with all mistakes and their paths. It never contains values of
    /// variables, `env` or `headers`.
    pub fn from_json(
        text: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        read::config(text, env)
    }

    /// Returns the names of all servers, including disabled ones, in the order of the file.
    pub fn server_names(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| server.name.as_str())
    }

    /// Returns the servers for a query that names none: those of all matching rules, or all servers
    /// if no rule matches. Disabled servers are left out. The order is that of the file.
    pub(crate) fn chosen(&self, query: &str) -> Vec<usize> {
        let enabled = |place: &usize| self.servers.get(*place).is_some_and(|it| !it.disabled);
        let mut chosen: Vec<usize> = self
            .settings
            .rules
            .iter()
            .filter(|rule| rule.matches.is_match(query))
            .flat_map(|rule| rule.servers.iter().copied())
            .filter(enabled)
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        if chosen.is_empty() {
            chosen = (0..self.servers.len()).filter(enabled).collect();
        }
        chosen
    }
}

/// Reads a configuration file of limited size.
///
/// A client chooses the working directory, usually the folder of a project, and other people may
/// have created links there. Therefore no link on a relative path is followed.
fn read_file(path: &SettingPath) -> io::Result<String> {
    let file = open_regular(&path.without_links()?, OpenOptions::new().read(true))?;
    let mut text = String::new();
    // One byte beyond the limit shows that the file is too large.
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        let problem = format!("it has more than {MAX_FILE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    Ok(text)
}

/// The configuration of one server.
#[derive(Clone)]
pub(crate) struct ServerConfig {
    pub(crate) name: String,
    pub(crate) how: How,
    /// If `true`, the server is never started and never queried.
    pub(crate) disabled: bool,
    /// The names and values of the environment variables in the server's block.
    pub(crate) secrets: Vec<(String, String)>,
    pub(crate) settings: ServerSettings,
}

impl std::fmt::Debug for ServerConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("how", &self.how)
            .field("disabled", &self.disabled)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The transport to a server. Its `Debug` output shows no secrets.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum How {
    /// A child process with MCP on its standard input and output.
    Command {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http { url: String, headers: BTreeMap<String, String> },
}

impl std::fmt::Debug for How {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // Arguments and URLs often contain tokens.
            Self::Command { command, args, env, .. } => formatter
                .debug_struct("Command")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &env.keys())
                .finish_non_exhaustive(),
            Self::Http { headers, .. } => formatter
                .debug_struct("Http")
                .field("headers", &headers.keys())
                .finish_non_exhaustive(),
        }
    }
}

/// The settings for all servers: `aggregator` in the file.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Time limit of one server for a query.
    pub(crate) server_timeout: Duration,
    /// Time limit of a query.
    pub(crate) deadline: Duration,
    /// Time limit for starting a server.
    pub(crate) start_timeout: Duration,
    /// Number of results if the query does not specify one.
    pub(crate) max_results: usize,
    /// Maximum size of a server's answer in bytes. A larger answer is a failure.
    pub(crate) max_response_bytes: usize,
    pub(crate) max_items_per_server: usize,
    pub(crate) max_item_chars: usize,
    /// Maximum size of the aggregator's whole answer in bytes.
    pub(crate) max_output_bytes: usize,
    pub(crate) discovery: Discovery,
    pub(crate) rules: Vec<Rule>,
    /// Maximum number of concurrent queries.
    pub(crate) max_queries: usize,
    /// Maximum number of concurrent calls to one server.
    pub(crate) calls_per_server: usize,
    /// Number of consecutive failures that open the circuit breaker.
    pub(crate) breaker_failures: u32,
    /// Time for which the circuit breaker stays open.
    pub(crate) breaker_open: Duration,
    /// Maximum number of results from one server.
    pub(crate) max_per_server: Option<usize>,
    /// Weight of relevance against variety, 0 to 1.
    pub(crate) mmr: Option<f64>,
    /// Hosts other than this machine allowed over plain HTTP.
    pub(crate) allow_http_hosts: Vec<String>,
    /// If `true`, a server is started by the first query that needs it.
    pub(crate) lazy: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            server_timeout: Duration::from_secs(3),
            deadline: Duration::from_millis(4500),
            start_timeout: Duration::from_secs(30),
            max_results: 30,
            max_response_bytes: 512 * 1024,
            max_items_per_server: 100,
            max_item_chars: 4000,
            max_output_bytes: 256 * 1024,
            discovery: Discovery::Annotated,
            rules: Vec::new(),
            max_queries: 64,
            calls_per_server: 16,
            breaker_failures: 3,
            breaker_open: Duration::from_secs(30),
            max_per_server: None,
            mmr: None,
            allow_http_hosts: Vec::new(),
            lazy: false,
        }
    }
}

/// A rule that sends matching queries to some servers.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) matches: Regex,
    /// Indices into [`Config::servers`].
    pub(crate) servers: Vec<usize>,
}

/// The settings for one server: `aggregator.servers.NAME` in the file.
#[derive(Debug, Clone)]
pub(crate) struct ServerSettings {
    /// The calls to make. If empty, discovery chooses.
    pub(crate) calls: Vec<CallTemplate>,
    /// Weight of the server's results. The default is 1.
    pub(crate) weight: f64,
    pub(crate) timeout: Option<Duration>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) discovery: Option<Discovery>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            calls: Vec::new(),
            weight: 1.0,
            timeout: None,
            lifecycle: Lifecycle::Initialize,
            discovery: None,
        }
    }
}

/// The handshake that opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// With `initialize`, as all servers up to revision 2025-11-25 expect.
    Initialize,
    /// With `server/discover`, for servers that only support 2026-07-28.
    Discover,
}

#[cfg(test)]
mod tests;
