//! The transport with one message per line: standard input and output of a command, or memory.

use std::ffi::OsString;
use std::fmt;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::task::JoinHandle;

use super::sealed::Transport;
use super::{Inbox, Link, MAX_MESSAGE_BYTES, NoResponse, Outgoing, Tap, Target};
use crate::category::Mode;
use crate::secrets::{self, Secrets, is_secret};

/// The buffer size in memory in each direction, in bytes.
const BUFFER: usize = 64 << 10;
/// The time for a process to exit after it closed its standard output.
const EXIT_TIMEOUT: Duration = Duration::from_millis(300);
/// The number of kept lines of standard error, which explain why an adapter ended.
const STDERR_LINES: usize = 3;

/// An adapter on standard input and output. It is started once for each connection. The variable
/// `MCP_AQL_ENDPOINT_MODE` selects the endpoint mode.
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

    /// Sets an environment variable besides the inherited ones.
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
            command
                .args(&self.arguments)
                .envs(self.environment.iter().map(|(name, value)| (name, value)))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .kill_on_drop(true);
            if let Some(mode) = mode {
                command.env("MCP_AQL_ENDPOINT_MODE", mode.as_str());
            }
            // A process group of its own, so that child processes can be ended with it and Ctrl-C does not
            // reach it.
            #[cfg(unix)]
            command.process_group(0);
            let mut child = command.spawn().map_err(|error| {
                NoResponse::Unreachable(format!("cannot start {}: {error}", self.describe()))
            })?;
            let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
                return Err(NoResponse::Unreachable(
                    "the process has no standard input and output".to_owned(),
                ));
            };
            let group = ProcessGroup::of(&child);
            let last_words = Arc::<Mutex<Vec<String>>>::default();
            let (listens, heard) = oneshot::channel();
            let words = Arc::clone(&last_words);
            let secrets = Arc::clone(&tap);
            let listening = tokio::spawn(async move {
                listen(stderr, words, &secrets).await;
                drop(listens);
            });
            let child = Arc::new(AsyncMutex::new(child));
            let mut lines = Lines::new(
                stdout,
                stdin,
                tap,
                EndCause::Process {
                    child: Arc::clone(&child),
                    group: group.clone(),
                    last_words,
                    heard,
                },
            );
            lines.keep(listening, child, group);
            Ok(lines.into_link())
        })
    }

    fn offers(&self, _mode: Mode) -> bool {
        true
    }

    fn describe(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.arguments);
        let words = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        // Reports are published.
        Secrets::new(self.secrets()).masked(&words)
    }

    fn secrets(&self) -> Vec<String> {
        let words: Vec<_> = self.arguments.iter().map(|word| word.to_string_lossy()).collect();
        let mut found = secrets::of_words(words.iter().map(AsRef::as_ref));
        let of_environment = self.environment.iter().filter(|(name, _)| is_secret(name));
        found.extend(of_environment.map(|(_, value)| value.clone()));
        found
    }
}

type Serve = dyn Fn(Option<Mode>, tokio::io::DuplexStream) + Send + Sync;

/// An adapter in this process, with one message per line in both directions.
///
/// ```
/// use mcp_aql_conformance::{MemoryTarget, Mode};
/// use tokio::io::DuplexStream;
///
/// # async fn serve(stream: DuplexStream, single: bool) {}
/// let target = MemoryTarget::new("mine", |mode, stream| {
///     tokio::spawn(serve(stream, mode == Some(Mode::Single)));
/// });
/// ```
#[derive(Clone)]
pub struct MemoryTarget {
    name: String,
    serve: Arc<Serve>,
    takes_modes: bool,
}

impl MemoryTarget {
    /// Creates a target. `serve` gets each connection and must spawn a task that serves it.
    pub fn new(
        name: impl Into<String>,
        serve: impl Fn(Option<Mode>, tokio::io::DuplexStream) + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), serve: Arc::new(serve), takes_modes: true }
    }

    /// Keeps the adapter in its own mode instead of selecting one.
    #[must_use]
    pub fn as_it_is(mut self) -> Self {
        self.takes_modes = false;
        self
    }
}

impl fmt::Debug for MemoryTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryTarget").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Target for MemoryTarget {}

impl Transport for MemoryTarget {
    fn open(&self, mode: Option<Mode>, tap: Arc<Tap>) -> BoxFuture<'_, Result<Link, NoResponse>> {
        Box::pin(async move {
            let (ours, theirs) = tokio::io::duplex(BUFFER);
            (self.serve)(mode, theirs);
            let (read, write) = tokio::io::split(ours);
            Ok(Lines::new(read, write, tap, EndCause::Memory).into_link())
        })
    }

    fn offers(&self, _mode: Mode) -> bool {
        self.takes_modes
    }

    fn describe(&self) -> String {
        self.name.clone()
    }
}

/// The source of the reason why the other side ended.
#[derive(Debug)]
enum EndCause {
    Memory,
    Process {
        child: Arc<AsyncMutex<Child>>,
        group: ProcessGroup,
        last_words: Arc<Mutex<Vec<String>>>,
        /// Closed when there are no more lines.
        heard: oneshot::Receiver<()>,
    },
}

impl EndCause {
    async fn why(self) -> NoResponse {
        NoResponse::Closed(match self {
            Self::Memory => "the adapter stopped serving".to_owned(),
            Self::Process { child, group, last_words, heard } => {
                let status =
                    tokio::time::timeout(EXIT_TIMEOUT, async { child.lock().await.wait().await });
                let status = match status.await {
                    Ok(Ok(status)) => {
                        group.end();
                        format!("the process exited, {status}")
                    }
                    _ => "the process closed its standard output".to_owned(),
                };
                // Lines of standard error may arrive slightly later.
                let _ = tokio::time::timeout(EXIT_TIMEOUT, heard).await;
                let last_words =
                    last_words.lock().unwrap_or_else(PoisonError::into_inner).join(" / ");
                match last_words.is_empty() {
                    true => status,
                    false => format!("{status}; its last lines on standard error: {last_words}"),
                }
            }
        })
    }
}

/// A process group. A launcher may exit before the adapter that it started.
#[derive(Debug, Clone)]
struct ProcessGroup {
    /// The group leader until the group is killed. The system may reuse the number after the process was
    /// waited for.
    #[cfg(unix)]
    leader: Arc<Mutex<Option<rustix::process::Pid>>>,
}

impl ProcessGroup {
    #[cfg(unix)]
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: Arc::new(Mutex::new(id.and_then(rustix::process::Pid::from_raw))) }
    }

    /// Kills the process group once.
    #[cfg(unix)]
    fn end(&self) {
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(leader) = leader {
            // Usually no process is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }

    /// Other systems kill the process only, when its handle is dropped.
    #[cfg(not(unix))]
    const fn of(_child: &Child) -> Self {
        Self {}
    }

    #[cfg(not(unix))]
    const fn end(&self) {}
}

/// A connection of lines.
pub(crate) struct Lines {
    writer: AsyncMutex<Box<dyn AsyncWrite + Send + Unpin>>,
    inbox: Arc<Inbox>,
    tasks: Vec<JoinHandle<()>>,
    child: Option<Arc<AsyncMutex<Child>>>,
    group: Option<ProcessGroup>,
}

impl Lines {
    fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
        tap: Arc<Tap>,
        ended: EndCause,
    ) -> Self {
        let inbox = Inbox::new(tap);
        let reading = tokio::spawn(receive(read, Arc::clone(&inbox), ended));
        let writer = AsyncMutex::new(Box::new(write) as Box<_>);
        Self { writer, inbox, tasks: vec![reading], child: None, group: None }
    }

    fn keep(&mut self, task: JoinHandle<()>, child: Arc<AsyncMutex<Child>>, group: ProcessGroup) {
        self.tasks.push(task);
        self.child = Some(child);
        self.group = Some(group);
    }

    /// The reason why the other side ended. The reading task learns it slightly later than the writer.
    async fn end(&self) -> Option<NoResponse> {
        for _ in 0..50 {
            if let Some(why) = self.inbox.ended() {
                return Some(why);
            }
            tokio::time::sleep(EXIT_TIMEOUT / 25).await;
        }
        None
    }

    fn into_link(self) -> Link {
        let inbox = Arc::clone(&self.inbox);
        Link { outgoing: Arc::new(self), inbox }
    }
}

/// A partially written line. If the sender is cancelled in between, the next message would continue the
/// line, so the connection is closed.
struct PartialLine<'a> {
    inbox: &'a Inbox,
    is_half: bool,
}

impl Drop for PartialLine<'_> {
    fn drop(&mut self) {
        if self.is_half {
            self.inbox.end(NoResponse::Closed("a request was written in part only".to_owned()));
        }
    }
}

impl Outgoing for Lines {
    fn send<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<(), NoResponse>> {
        Box::pin(async move {
            let mut writer = self.writer.lock().await;
            let mut half = PartialLine { inbox: &self.inbox, is_half: false };
            let written = async {
                for mut rest in [message, b"\n"] {
                    while !rest.is_empty() {
                        let count = writer.write(rest).await?;
                        if count == 0 {
                            return Err(std::io::ErrorKind::WriteZero.into());
                        }
                        half.is_half = true;
                        rest = rest.get(count..).unwrap_or_default();
                    }
                }
                half.is_half = false;
                writer.flush().await
            };
            match written.await {
                Ok(()) => Ok(()),
                Err(error) => {
                    Err(self.end().await.unwrap_or(NoResponse::Closed(error.to_string())))
                }
            }
        })
    }

    fn close(&self, limit: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Closing fails if the other side is gone.
            let _ = self.writer.lock().await.shutdown().await;
            *self.writer.lock().await = Box::new(tokio::io::sink());
            if let Some(child) = &self.child {
                let mut child = child.lock().await;
                let ended = tokio::time::timeout(limit, child.wait()).await;
                if ended.is_err() {
                    let _ = child.start_kill();
                }
                // Kill before waiting, because the system may reuse the number afterwards.
                if let Some(group) = &self.group {
                    group.end();
                }
            }
        })
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            group.end();
        }
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Reads lines until the other side closes or exceeds a limit.
async fn receive(read: impl AsyncRead + Send + Unpin, inbox: Arc<Inbox>, ended: EndCause) {
    let mut reader = BufReader::with_capacity(BUFFER, read);
    let mut line = Vec::new();
    loop {
        let part = match reader.fill_buf().await {
            Ok([]) | Err(_) => {
                if !line.is_empty() {
                    inbox.take(&line);
                }
                let why = ended.why().await;
                return inbox.end(why);
            }
            Ok(part) => part,
        };
        let (taken, is_whole) = match part.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end, true),
            None => (part.len(), false),
        };
        line.extend_from_slice(part.get(..taken).unwrap_or_default());
        reader.consume(taken + usize::from(is_whole));
        if line.len() > MAX_MESSAGE_BYTES {
            return inbox.end(NoResponse::TooLong(MAX_MESSAGE_BYTES));
        }
        if is_whole {
            let text = line.trim_ascii();
            let goes_on = if text.is_empty() { inbox.unrequested(text) } else { inbox.take(text) };
            if !goes_on {
                return;
            }
            line.clear();
            line.shrink_to(BUFFER);
        }
    }
}

/// Keeps the last lines of standard error.
async fn listen(
    stderr: impl AsyncRead + Send + Unpin,
    last_words: Arc<Mutex<Vec<String>>>,
    tap: &Tap,
) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = tokio::io::AsyncReadExt::take(&mut reader, 64 << 10);
        match bounded.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = tap.secrets().masked(&String::from_utf8_lossy(&line));
                let text: String = text.trim().chars().take(200).collect();
                if text.is_empty() {
                    continue;
                }
                let mut words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
                if words.len() == STDERR_LINES {
                    words.remove(0);
                }
                words.push(text);
            }
        }
    }
}
