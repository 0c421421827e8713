//! Connects to adapters on the standard input and output of a command.

use std::ffi::OsString;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use mcp_aql_client::process::{Process, StderrTail};
use mcp_aql_client::secrets::PossibleSecret;
use tokio::process::Command;
use tokio::sync::Mutex as AsyncMutex;

use super::lines::{Lines, ProcessEnd};
use super::{Link, NoResponse, Tap, Target, sealed::Transport};
use crate::category::Mode;
use crate::secrets::{Secrets, certain};

/// Number of kept lines of standard error. They explain why an adapter ended.
const STDERR_LINES: usize = 3;
/// Maximum length of each such line, in characters.
const STDERR_LINE_CHARS: usize = 200;

/// An adapter on the standard input and output of a command.
///
/// The runner starts the command once for each connection. The environment variable `MCP_AQL_ENDPOINT_MODE` selects the
/// endpoint mode.
///
/// ```
/// use mcp_aql_conformance::CommandTarget;
///
/// let target = CommandTarget::new("python", ["-m", "my_adapter"]).env("DATABASE", "test.db");
/// ```
#[derive(Debug, Clone)]
pub struct CommandTarget {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(String, String)>,
}

impl CommandTarget {
    /// Creates a target with a program and its arguments.
    pub fn new(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
        }
    }

    /// Sets an environment variable in addition to the inherited ones. Call it once for each variable that you need.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }
}

impl Target for CommandTarget {}

impl Transport for CommandTarget {
    fn open(&self, mode: Option<Mode>, tap: Arc<Tap>) -> BoxFuture<'_, Result<Link, NoResponse>> {
        Box::pin(async move {
            let mut command = Command::new(&self.program);
            command.args(&self.arguments);
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
            if let Some(mode) = mode {
                command.env("MCP_AQL_ENDPOINT_MODE", mode.as_str());
            }
            let of_line = Arc::clone(&tap);
            let stderr_tail = StderrTail::new(STDERR_LINES, STDERR_LINE_CHARS, move |line| {
                of_line.secrets().masked(line)
            });
            let started = Process::start(command, None, &stderr_tail);
            let (process, stdout, stdin) = started.map_err(|error| {
                NoResponse::Unreachable(format!("cannot start {}: {error}", self.describe()))
            })?;
            let process = ProcessEnd { process: Arc::new(AsyncMutex::new(process)), stderr_tail };
            Ok(Lines::new(stdout, stdin, tap, Some(process)).into_link())
        })
    }

    fn offers(&self, _mode: Mode) -> bool {
        true
    }

    fn describe(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let words = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        // Reports are published, so they must not contain secrets.
        Secrets::new(self.secrets()).masked(&words)
    }

    fn secrets(&self) -> Vec<String> {
        let words: Vec<_> = self.arguments.iter().map(|word| word.to_string_lossy()).collect();
        let mut found = certain(PossibleSecret::of_command_line(words.iter().map(AsRef::as_ref)));
        for (name, value) in &self.environment {
            found.extend(certain(PossibleSecret::of_variable(name, value)));
        }
        found
    }
}
