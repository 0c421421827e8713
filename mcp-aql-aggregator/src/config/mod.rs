//! The configuration: a client's own `mcpServers`, and beside it what is ours.

mod expand;
mod fault;
mod node;
mod read;
mod servers;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;

pub(crate) use expand::{Piece, Variables, pieces};
pub use fault::{ConfigError, Fault};
pub(crate) use read::{listed, nearest};

use crate::ask::CallTemplate;

/// Larger files are no configurations.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Which servers there are, and how they are asked.
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
    /// In the order of the file.
    pub(crate) servers: Vec<ServerConfig>,
    pub(crate) settings: Settings,
}

impl Config {
    /// Reads a file. `${NAME}` in it stands for variables of the environment of this process.
    ///
    /// # Errors
    /// [`ConfigError`] with everything that is wrong.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |reason: String| {
            ConfigError::of("", format!("cannot read {}: {reason}", path.display()))
        };
        let file = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let mut text = String::new();
        // One byte more than is allowed tells that there is more.
        std::io::Read::read_to_string(&mut std::io::Read::take(file, MOST_BYTES + 1), &mut text)
            .map_err(|error| unreadable(error.to_string()))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(unreadable(format!("it has more than {MOST_BYTES} bytes")));
        }
        Self::from_json(&text, &|name| std::env::var(name).ok())
    }

    /// Reads the text of a file; `env` gives what `${NAME}` in it stands for.
    ///
    /// # Errors
    /// [`ConfigError`] with everything that is wrong, each fault with its path. What variables, `env`
    /// and `headers` hold is never in it.
    pub fn from_json(
        text: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        read::config(text, env)
    }

    /// The names of all servers, disabled ones too, in the order of the file.
    pub fn server_names(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| server.name.as_str())
    }

    /// The servers that a query goes to when its caller names none: those of all rules that match, or
    /// all, without the disabled ones; in the order of the file.
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

/// One server.
#[derive(Clone)]
pub(crate) struct ServerConfig {
    pub(crate) name: String,
    pub(crate) how: How,
    /// Never started, never asked.
    pub(crate) disabled: bool,
    /// The variables of the environment that are in its block, and what they held.
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

/// How a server is reached. Its `Debug` shows no secrets.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum How {
    /// A process of our own, on its standard input and output.
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
            // Arguments and URLs hold tokens often enough.
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

/// What is set for all servers: `aggregator` in the file.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// How long a server may take for a query.
    pub(crate) server_timeout: Duration,
    /// How long a query may take.
    pub(crate) deadline: Duration,
    /// How long a server may take to start.
    pub(crate) start_timeout: Duration,
    /// Results of a query that asks for no number.
    pub(crate) max_results: usize,
    /// Larger answers of a server are failures.
    pub(crate) max_response_bytes: usize,
    pub(crate) max_items_per_server: usize,
    pub(crate) max_item_chars: usize,
    /// Of a whole answer of ours.
    pub(crate) max_output_bytes: usize,
    pub(crate) discovery: Discovery,
    pub(crate) rules: Vec<Rule>,
    /// Queries at once.
    pub(crate) max_queries: usize,
    /// Calls to one server at once.
    pub(crate) calls_per_server: usize,
    /// So many failures in a row open the circuit breaker,
    pub(crate) breaker_failures: u32,
    /// for so long.
    pub(crate) breaker_open: Duration,
    /// At most so many results of one server.
    pub(crate) max_per_server: Option<usize>,
    /// Weight of relevance against variety, 0 to 1.
    pub(crate) mmr: Option<f64>,
    /// Hosts beside this machine that are asked over plain HTTP.
    pub(crate) allow_http_hosts: Vec<String>,
    /// Servers are started by the first query that needs them.
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

/// Which tools are asked without being named in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Discovery {
    /// Search tools that say of themselves that they only read.
    Annotated,
    /// Also those that say nothing of the sort, but are called like it.
    Named,
    /// None.
    Off,
}

/// Queries that match go to these servers.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) matches: Regex,
    /// Places in [`Config::servers`].
    pub(crate) servers: Vec<usize>,
}

/// What is set for one server: `aggregator.servers.NAME` in the file.
#[derive(Debug, Clone)]
pub(crate) struct ServerSettings {
    /// What to call. Empty: what discovery finds.
    pub(crate) calls: Vec<CallTemplate>,
    /// What its results count, beside 1 for others.
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

/// How a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// With `initialize`, as all servers up to 2025-11-25 want it.
    Initialize,
    /// With `server/discover`, for servers that know 2026-07-28 alone.
    Discover,
}
