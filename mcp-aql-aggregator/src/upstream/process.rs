//! Child processes: started with little of our environment, and ended with all that they have started.

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

/// What a process gets of our environment: enough to find programs and files.
#[cfg(not(windows))]
const INHERITED: &[&str] = &["PATH", "HOME", "LANG", "TMPDIR"];
/// Where programs do not even start without more.
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
/// How long a process may take to end by itself once its standard input is closed,
const BY_ITSELF: Duration = Duration::from_millis(500);
/// and once it has been asked to.
const ON_DEMAND: Duration = Duration::from_millis(250);
/// How long the system takes to end one that is made to.
const BY_FORCE: Duration = Duration::from_millis(150);
/// How long the standard error of a process is listened to after its end.
const AFTER_ITS_END: Duration = Duration::from_millis(200);
/// So many last lines of standard error are kept, and so much of each.
const LAST_LINES: usize = 20;
const LONGEST_LINE: usize = 500;

/// How to start a process.
pub(super) struct Start<'a> {
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) cwd: Option<&'a Path>,
    /// A variable that tells it by whom it was started.
    pub(super) mark: (&'a str, &'a str),
}

/// A process with all that it has started. Dropped, it is ended by force.
#[derive(Debug)]
pub(super) struct Process {
    // Ended before the process is forgotten: until then, nobody else gets its number.
    group: Group,
    child: Child,
    /// While it is there, its standard error is listened to.
    _listens: oneshot::Sender<()>,
}

impl Process {
    /// Starts it.
    ///
    /// # Errors
    /// When there is no such program, or it may not be started.
    pub(super) fn start(
        start: &Start<'_>,
        last_words: &Arc<LastWords>,
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
        // So that what it starts can be ended with it; and Ctrl-C is for us to answer.
        #[cfg(unix)]
        let mark = super::descendants::new_mark();
        #[cfg(unix)]
        command.process_group(0).env(super::descendants::VARIABLE, &mark);
        let mut child = command.spawn()?;
        #[cfg(unix)]
        let group = Group::of(&child, &mark);
        #[cfg(not(unix))]
        let group = Group {};
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (listens, is_over) = oneshot::channel();
        tokio::spawn(last_words.clone().listen(stderr, is_over));
        Ok((Self { group, child, _listens: listens }, stdout, stdin))
    }

    /// Ends it within a second: its standard input is closed already. Tells how it ended by itself.
    pub(super) async fn end(mut self) -> Option<ExitStatus> {
        self.group.look();
        let by_itself = self.ends_within(BY_ITSELF).await;
        let mut has_ended = by_itself.is_some();
        if !has_ended {
            self.group.ask_to_end();
            has_ended = self.ends_within(ON_DEMAND).await.is_some();
        }
        // Also what it has left behind.
        self.group.end();
        if !has_ended {
            let _ = self.ends_within(BY_FORCE).await;
        }
        by_itself
    }

    async fn ends_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        timeout(limit, self.child.wait()).await.ok()?.ok()
    }
}

/// A process group, and what has left it. Elsewhere than on Unix, the process alone is ended, as its own value sees to.
#[derive(Debug)]
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
    #[cfg(unix)]
    descendants: super::descendants::Descendants,
}

#[cfg(unix)]
impl Group {
    fn of(child: &Child, mark: &str) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id.and_then(rustix::process::Pid::from_raw);
        if let Some(leader) = leader {
            super::guard::watch(leader);
        }
        Self { leader, descendants: super::descendants::Descendants::of(leader, mark) }
    }

    /// Remembers who is there, as long as parents are.
    fn look(&mut self) {
        self.descendants.look();
    }

    fn ask_to_end(&self) {
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::TERM);
        }
    }

    /// Ends all of it. Usually nobody is left.
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
impl Group {
    const fn look(&mut self) {}

    const fn ask_to_end(&self) {}

    const fn end(&mut self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last lines that a process wrote to its standard error, without the secrets that it was given. For
/// whoever sits in front of the terminal, and for no log.
#[derive(Default)]
pub(super) struct LastWords {
    secrets: Arc<Secrets>,
    lines: Mutex<VecDeque<String>>,
    /// So many processes are listened to.
    listeners: watch::Sender<usize>,
}

impl fmt::Debug for LastWords {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LastWords").finish_non_exhaustive()
    }
}

impl LastWords {
    /// `secrets` are hidden.
    pub(super) fn new(secrets: Arc<Secrets>) -> Arc<Self> {
        Arc::new(Self { secrets, ..Self::default() })
    }

    /// All of them, the last one last.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Waits until all that was written by what has ended is read.
    pub(super) async fn are_heard(&self) {
        let mut listeners = self.listeners.subscribe();
        let _ = timeout(AFTER_ITS_END, listeners.wait_for(|count| *count == 0)).await;
    }

    /// Listens to a process, and a little longer than it is there: others may hold its standard error.
    async fn listen(
        self: Arc<Self>,
        stderr: impl AsyncRead + Unpin,
        is_over: oneshot::Receiver<()>,
    ) {
        self.listeners.send_modify(|count| *count += 1);
        tokio::select! {
            () = listen(stderr, &self) => {}
            () = async {
                let _ = is_over.await;
                tokio::time::sleep(AFTER_ITS_END).await;
            } => {}
        }
        self.listeners.send_modify(|count| *count -= 1);
    }

    fn add(&self, line: &[u8]) {
        let text = self.secrets.hidden(&String::from_utf8_lossy(line));
        let text: String =
            text.trim().chars().filter(|each| !each.is_control()).take(LONGEST_LINE).collect();
        if text.is_empty() {
            return;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}

/// Takes all that comes, so that the process is never held up by it, and keeps the last lines.
async fn listen(mut stderr: impl AsyncRead + Unpin, last_words: &LastWords) {
    // So much of a line is looked at: a secret at the place where it is cut shall still be seen whole.
    const LOOKED_AT: usize = 16 * LONGEST_LINE;
    let mut line = Vec::new();
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        for part in buffer.get(..count).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            let room = LOOKED_AT.saturating_sub(line.len()).min(part.len());
            line.extend_from_slice(part.get(..room).unwrap_or_default());
            if part.ends_with(b"\n") {
                last_words.add(&line);
                line.clear();
            }
        }
    }
    last_words.add(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_standard_error_the_last_lines_are_kept_without_secrets() {
        let words = LastWords::new(Arc::new(Secrets::new(
            ["hunter2", "hunter2-long", "a"].map(str::to_owned),
        )));
        let mut text = (0..100).map(|n| format!("line {n}\r\n")).collect::<String>();
        text.push_str("\n\u{1b}[31mpassword hunter2-long and hunter2\u{7}\n");
        text.push_str(&"x".repeat(1_000_000));
        text.push_str("\nno end");
        listen(text.as_bytes(), &words).await;
        let lines = words.lines();
        assert_eq!(lines.len(), LAST_LINES);
        assert_eq!(lines[0], "line 83");
        assert_eq!(lines[LAST_LINES - 3], "[31mpassword *** and ***");
        assert_eq!(lines[LAST_LINES - 2].len(), LONGEST_LINE);
        assert_eq!(lines[LAST_LINES - 1], "no end");
    }
}
