//! Starts the adapter's process, sends signals to it, and collects its log.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use super::pipes::Pipes;
use super::transport::{Address, Transport};
use crate::Fault;

/// Maximum time for a start, and for the end after a signal.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(120);

/// The configuration of an adapter: its folder, store and transport.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    /// The schema in PostgreSQL. `None` means an SQLite file in the folder.
    pub(super) schema: Option<String>,
    pub(super) transport: Transport,
    /// The lease of executions.
    pub(super) lease: Duration,
}

/// The lines that the adapter wrote to standard error.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Arc<watch::Sender<LogState>>);

#[derive(Debug, Default)]
struct LogState {
    lines: Vec<String>,
    /// If `true`, standard error is closed, so no more lines will follow.
    is_complete: bool,
}

impl Log {
    #[cfg(test)]
    pub(super) fn of(lines: &[&str]) -> Self {
        let log = Self::default();
        lines.iter().for_each(|line| log.push((*line).to_owned()));
        log
    }

    fn push(&self, line: String) {
        self.0.send_modify(|log| log.lines.push(line));
    }

    /// Returns the number of lines that contain all of these strings.
    pub(super) fn count(&self, texts: &[&str]) -> usize {
        let lines = &self.0.borrow().lines;
        lines.iter().filter(|line| texts.iter().all(|text| line.contains(text))).count()
    }

    /// Returns the last lines, for the message of a failed run.
    pub(super) fn tail(&self) -> String {
        let lines = &self.0.borrow().lines;
        let start = lines.len().saturating_sub(20);
        lines.get(start..).unwrap_or_default().join("\n")
    }

    /// Waits for a line with this string and returns it.
    pub(super) async fn line(&self, text: &str) -> Result<String, Fault> {
        let found = |log: &LogState| log.lines.iter().find(|line| line.contains(text)).cloned();
        self.wait_for(|log| log.is_complete || found(log).is_some()).await?;
        let line = found(&self.0.borrow());
        Ok(line.ok_or_else(|| format!("the log has no line with {text:?}:\n{}", self.tail()))?)
    }

    /// Waits until the log is complete.
    async fn completed(&self) -> Result<(), Fault> {
        self.wait_for(|log| log.is_complete).await
    }

    async fn wait_for(&self, condition: impl FnMut(&LogState) -> bool) -> Result<(), Fault> {
        timeout(PROCESS_TIMEOUT, self.0.subscribe().wait_for(condition)).await??;
        Ok(())
    }
}

/// A running adapter. Keep it as long as you need the process, because dropping it kills the process.
pub(super) struct Server {
    child: Child,
    id: Pid,
    pub(super) address: Address,
    pub(super) log: Log,
}

impl Server {
    /// Starts an adapter with these command-line arguments. Waits until it accepts calls.
    pub(super) async fn start(place: &Place, arguments: &[&str]) -> Result<Self, Fault> {
        let mut command = command(place)?;
        command.args(["--", "serve"]).args(arguments);
        match place.transport {
            Transport::Http => {
                // On a slow machine, held calls may keep their connections open longer than the default timeout.
                command.args(["--http", "127.0.0.1:0", "--client-timeout", "600"]);
                command.stdin(Stdio::null())
            }
            Transport::Stdio => command.stdin(Stdio::piped()).stdout(Stdio::piped()),
        };
        let mut child = command.spawn()?;
        let log = Log::default();
        tokio::spawn(follow(child.stderr.take().ok_or("no standard error")?, log.clone()));
        let address = match child.stdin.take().zip(child.stdout.take()) {
            Some((input, output)) => {
                let opened = timeout(PROCESS_TIMEOUT, Pipes::open(input, output)).await;
                let pipes = opened.unwrap_or_else(|late| Err(late.into()));
                Address::Stdio(pipes.map_err(|fault| format!("{fault}:\n{}", log.tail()))?)
            }
            None => {
                let line = log.line("MCP on http://").await?;
                let url = line.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp"));
                Address::Http(url.ok_or("no address")?.0.parse()?)
            }
        };
        Ok(Self { id: process_id(&child)?, child, address, log })
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), Fault> {
        Ok(kill_process(self.id, signal)?)
    }

    /// Limits the size of the files that the process writes. This has the effect of a full disk.
    pub(super) fn limit_files(&self, bytes: Option<u64>) -> Result<(), Fault> {
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(Some(self.id), Resource::Fsize, limit)?;
        Ok(())
    }

    /// Kills the process (SIGKILL) and waits for its end.
    pub(super) async fn kill(mut self) -> Result<(), Fault> {
        if let Some(status) = self.child.try_wait()? {
            return Err(
                format!("the adapter exited unexpectedly: {status}\n{}", self.log.tail()).into()
            );
        }
        self.child.kill().await?;
        self.log.completed().await
    }

    /// Waits until the process exits by itself.
    pub(super) async fn ended(mut self) -> Result<ExitStatus, Fault> {
        let status = timeout(PROCESS_TIMEOUT, self.child.wait()).await;
        let status =
            status.map_err(|_| format!("the adapter does not end:\n{}", self.log.tail()))?;
        self.log.completed().await?;
        Ok(status?)
    }
}

/// Builds the command that starts this program as an adapter.
fn command(place: &Place) -> Result<Command, Fault> {
    // Ignore the signal that a process gets at the file size limit. Writes then return an error instead.
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#]).arg(std::env::current_exe()?);
    command.args(["adapter", "faults"]).arg(&place.folder);
    command.args(["--lease", &place.lease.as_secs().to_string()]);
    if let Some(schema) = &place.schema {
        command.args(["--schema", schema]);
    }
    // The level `info` logs when a stop begins. About calls, the suite only reads warnings and errors.
    command.env("MCP_AQL_LOG", "info").env_remove("MCP_AQL_LOG_FORMAT");
    command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    Ok(command)
}

fn process_id(child: &Child) -> Result<Pid, Fault> {
    let id = child.id().ok_or("the adapter exited immediately")?;
    Ok(Pid::from_raw(i32::try_from(id)?).ok_or("no process id")?)
}

/// Collects the lines of the log.
async fn follow(stderr: ChildStderr, log: Log) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        log.push(line);
    }
    log.0.send_modify(|log| log.is_complete = true);
}
