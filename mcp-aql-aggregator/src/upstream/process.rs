//! Child processes: started with a minimal environment, and ended with all processes that they have
//! started.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::secrets::Secrets;

/// The variables that a process inherits: enough to find programs and files.
#[cfg(not(windows))]
const INHERITED: &[&str] = &["PATH", "HOME", "LANG", "TMPDIR"];
/// The variables without which programs do not start on Windows.
#[cfg(windows)]
const INHERITED: &[&str] = &[
    "PATH",
    "PATHEXT",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COMSPEC",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
];
/// The time that a process has to exit after its standard input is closed.
const EXIT_GRACE_PERIOD: Duration = Duration::from_millis(500);
/// The time that a process has to exit after it was asked to terminate.
const TERMINATE_GRACE_PERIOD: Duration = Duration::from_millis(250);
/// The time limit for the system to kill a process.
const KILL_TIMEOUT: Duration = Duration::from_millis(150);
/// The time for which standard error is read after a process has ended.
const STDERR_GRACE_PERIOD: Duration = Duration::from_millis(200);
/// The maximum number of lines kept of standard error, and the maximum length of each in
/// characters.
const MAX_STDERR_LINES: usize = 20;
const MAX_LINE_CHARS: usize = 500;

/// The description of a process to start.
pub(super) struct Start<'a> {
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) cwd: Option<&'a Path>,
    /// A variable that identifies the aggregators that started the process.
    pub(super) mark: (&'a str, &'a str),
}

/// A process and all processes that it has started. Dropping it kills them.
#[derive(Debug)]
pub(super) struct Process {
    // Dropped before the child is reaped, because until then its process id cannot be reused.
    group: ProcessGroup,
    child: Child,
    /// Keeps the reader of standard error running.
    _listens: oneshot::Sender<()>,
}

impl Process {
    /// Starts the process.
    ///
    /// # Errors
    /// When the program does not exist or cannot be started.
    pub(super) fn start(
        start: &Start<'_>,
        stderr_tail: &Arc<StderrTail>,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut command = Command::new(start.command);
        command.args(start.args).env_clear();
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(start.env).env(start.mark.0, start.mark.1);
        if let Some(cwd) = start.cwd {
            command.current_dir(cwd);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // A process group of its own allows ending everything that the process starts. It also
        // keeps Ctrl-C away from the process.
        #[cfg(unix)]
        let mark = super::descendants::new_mark();
        #[cfg(unix)]
        command.process_group(0).env(super::descendants::VARIABLE, &mark);
        let mut child = command.spawn()?;
        #[cfg(unix)]
        let group = ProcessGroup::of(&child, &mark);
        #[cfg(not(unix))]
        let group = ProcessGroup {};
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (listens, is_over) = oneshot::channel();
        tokio::spawn(stderr_tail.clone().read_from(stderr, is_over));
        Ok((Self { group, child, _listens: listens }, stdout, stdin))
    }

    /// Ends the process within a second. Its standard input is already closed. Returns the exit
    /// status if the process exited on its own.
    pub(super) async fn end(mut self) -> Option<ExitStatus> {
        self.group.look();
        let by_itself = self.ends_within(EXIT_GRACE_PERIOD).await;
        let mut has_ended = by_itself.is_some();
        if !has_ended {
            self.group.terminate();
            has_ended = self.ends_within(TERMINATE_GRACE_PERIOD).await.is_some();
        }
        // Processes that it left behind are ended too.
        self.group.end();
        if !has_ended {
            let _ = self.ends_within(KILL_TIMEOUT).await;
        }
        by_itself
    }

    async fn ends_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        timeout(limit, self.child.wait()).await.ok()?.ok()
    }
}

/// A process group and the processes that have left it. On systems other than Unix only the child
/// itself is ended, by `kill_on_drop`.
#[derive(Debug)]
struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
    #[cfg(unix)]
    descendants: super::descendants::Descendants,
}

#[cfg(unix)]
impl ProcessGroup {
    fn of(child: &Child, mark: &str) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id.and_then(rustix::process::Pid::from_raw);
        if let Some(leader) = leader {
            super::guard::watch(leader);
        }
        Self { leader, descendants: super::descendants::Descendants::of(leader, mark) }
    }

    /// Records the descendants while their parents exist.
    fn look(&mut self) {
        self.descendants.look();
    }

    fn terminate(&self) {
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::TERM);
        }
    }

    /// Kills the group and the descendants, usually none.
    fn end(&mut self) {
        if let Some(leader) = self.leader.take() {
            self.look();
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
            self.descendants.end();
            super::guard::forget(leader);
        }
    }
}

#[cfg(not(unix))]
impl ProcessGroup {
    const fn look(&mut self) {}

    const fn terminate(&self) {}

    const fn end(&mut self) {}
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last lines that a process wrote to its standard error, without the secrets passed to it.
/// They are for the operator's terminal, not for logs.
#[derive(Default)]
pub(super) struct StderrTail {
    secrets: Arc<Secrets>,
    lines: Mutex<VecDeque<String>>,
    /// The number of processes whose standard error is being read.
    listeners: watch::Sender<usize>,
}

impl fmt::Debug for StderrTail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StderrTail").finish_non_exhaustive()
    }
}

impl StderrTail {
    /// Creates an empty buffer that masks `secrets`.
    pub(super) fn new(secrets: Arc<Secrets>) -> Arc<Self> {
        Arc::new(Self { secrets, ..Self::default() })
    }

    /// Returns all lines, the oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Waits until everything that ended processes have written is read.
    pub(super) async fn wait_until_read(&self) {
        let mut listeners = self.listeners.subscribe();
        let _ = timeout(STDERR_GRACE_PERIOD, listeners.wait_for(|count| *count == 0)).await;
    }

    /// Reads standard error until shortly after the process has ended, because other processes may
    /// hold it open.
    async fn read_from(
        self: Arc<Self>,
        stderr: impl AsyncRead + Unpin,
        is_over: oneshot::Receiver<()>,
    ) {
        self.listeners.send_modify(|count| *count += 1);
        tokio::select! {
            () = read_lines(stderr, &self) => {}
            () = async {
                let _ = is_over.await;
                tokio::time::sleep(STDERR_GRACE_PERIOD).await;
            } => {}
        }
        self.listeners.send_modify(|count| *count -= 1);
    }

    fn add(&self, line: &[u8]) {
        let text = self.secrets.hidden(&String::from_utf8_lossy(line));
        let text: String =
            text.trim().chars().filter(|each| !each.is_control()).take(MAX_LINE_CHARS).collect();
        if text.is_empty() {
            return;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_STDERR_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}

/// Reads everything, so that the process never blocks on a full pipe, and keeps the last lines.
async fn read_lines(mut stderr: impl AsyncRead + Unpin, stderr_tail: &StderrTail) {
    // The bytes read of a line. They exceed what is kept, so that a secret at the cut is still
    // recognized.
    const MAX_READ_BYTES: usize = 16 * MAX_LINE_CHARS;
    let mut line = Vec::new();
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        for part in buffer.get(..count).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_READ_BYTES.saturating_sub(line.len()).min(part.len());
            line.extend_from_slice(part.get(..room).unwrap_or_default());
            if part.ends_with(b"\n") {
                stderr_tail.add(&line);
                line.clear();
            }
        }
    }
    stderr_tail.add(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept_without_secrets() {
        let words = StderrTail::new(Arc::new(Secrets::new(
            ["hunter2", "hunter2-long", "a"].map(str::to_owned),
        )));
        let mut text = (0..100).map(|n| format!("line {n}\r\n")).collect::<String>();
        text.push_str("\n\u{1b}[31mpassword hunter2-long and hunter2\u{7}\n");
        text.push_str(&"x".repeat(1_000_000));
        text.push_str("\nno end");
        read_lines(text.as_bytes(), &words).await;
        let lines = words.lines();
        assert_eq!(lines.len(), MAX_STDERR_LINES);
        assert_eq!(lines[0], "line 83");
        assert_eq!(lines[MAX_STDERR_LINES - 3], "[31mpassword *** and ***");
        assert_eq!(lines[MAX_STDERR_LINES - 2].len(), MAX_LINE_CHARS);
        assert_eq!(lines[MAX_STDERR_LINES - 1], "no end");
    }
}
