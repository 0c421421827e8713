//! The adapter's process, its signals and its log.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::Fault;

/// The maximum duration of a start, and of an end after a signal.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(120);

/// Where an adapter keeps its state.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    /// The schema in PostgreSQL, in place of an SQLite file in the folder.
    pub(super) schema: Option<String>,
}

/// The lines that an adapter wrote to standard error.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    #[cfg(test)]
    pub(super) fn of(line: &str) -> Self {
        Self(Arc::new(Mutex::new(vec![line.to_owned()])))
    }

    fn push(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// The number of lines with this text.
    pub(super) fn count(&self, text: &str) -> usize {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| line.contains(text)).count()
    }

    pub(super) fn contains(&self, text: &str) -> bool {
        self.count(text) > 0
    }

    /// The last lines, for the message of a failure.
    pub(super) fn tail(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let start = lines.len().saturating_sub(20);
        lines.get(start..).unwrap_or_default().join("\n")
    }
}

/// A running adapter. It is killed when this value is dropped.
pub(super) struct Server {
    child: Child,
    id: Pid,
    pub(super) address: SocketAddr,
    pub(super) log: Log,
    /// Set when standard error is closed.
    ended: watch::Receiver<bool>,
}

impl Server {
    /// Starts an adapter over HTTP and waits until it listens.
    pub(super) async fn start(place: &Place) -> Result<Self, Fault> {
        let mut command = command(place)?;
        command.args(["--", "serve", "--http", "127.0.0.1:0"]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).spawn()?;
        let stderr = child.stderr.take().ok_or("no standard error")?;
        let id = process_id(&child)?;
        let log = Log::default();
        let (address, ended) = follow(stderr, log.clone());
        let mut listening = address;
        let found = timeout(PROCESS_TIMEOUT, listening.wait_for(Option::is_some)).await;
        let address = found.ok().and_then(Result::ok).and_then(|found| *found);
        let address =
            address.ok_or_else(|| format!("the adapter did not start:\n{}", log.tail()))?;
        Ok(Self { child, id, address, log, ended })
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), Fault> {
        Ok(kill_process(self.id, signal)?)
    }

    /// Limits the size of the files that the process writes, as a full disk does.
    pub(super) fn limit_files(&self, bytes: Option<u64>) -> Result<(), Fault> {
        let limit = Rlimit { current: bytes, maximum: None };
        prlimit(Some(self.id), Resource::Fsize, limit)?;
        Ok(())
    }

    /// Kills the process (SIGKILL) and waits for its end.
    pub(super) async fn kill(mut self) -> Result<Log, Fault> {
        if let Some(status) = self.child.try_wait()? {
            return Err(
                format!("the adapter ended by itself: {status}\n{}", self.log.tail()).into()
            );
        }
        self.child.kill().await?;
        self.drained().await
    }

    /// Waits for the last line.
    async fn drained(mut self) -> Result<Log, Fault> {
        timeout(PROCESS_TIMEOUT, self.ended.wait_for(|ended| *ended)).await??;
        Ok(self.log)
    }
}

/// The command that starts this program as an adapter.
fn command(place: &Place) -> Result<Command, Fault> {
    // The signal that ends a process at the limit of file sizes is ignored; writes return an error in its place.
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; exec "$0" "$@""#]).arg(std::env::current_exe()?);
    command.args(["adapter", "faults"]).arg(&place.folder);
    if let Some(schema) = &place.schema {
        command.args(["--schema", schema]);
    }
    // The log at its default level.
    command.env_remove("MCP_AQL_LOG").env_remove("RUST_LOG").env_remove("MCP_AQL_LOG_FORMAT");
    command.stderr(Stdio::piped()).kill_on_drop(true);
    Ok(command)
}

fn process_id(child: &Child) -> Result<Pid, Fault> {
    let id = child.id().ok_or("it ended at once")?;
    Ok(Pid::from_raw(i32::try_from(id)?).ok_or("no process id")?)
}

/// Collects the log. Returns the address once the adapter has written it.
fn follow(
    stderr: ChildStderr,
    log: Log,
) -> (watch::Receiver<Option<SocketAddr>>, watch::Receiver<bool>) {
    let (address, listening) = watch::channel(None);
    let (ends, ended) = watch::channel(false);
    tokio::spawn(async move {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let url = line.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp"));
            if let Some(found) = url.and_then(|(address, _)| address.parse().ok()) {
                address.send_if_modified(|address| address.replace(found).is_none());
            }
            log.push(line);
        }
        drop(address);
        ends.send_replace(true);
    });
    (listening, ended)
}
