//! Child processes that are ended together with all of their descendants.
//!
//! Call [`Process::start`] to start a process with pipes in a process group of its own, and
//! [`Process::end`] to end the group. Dropping the [`Process`] kills the group. [`StderrTail`]
//! reads standard error and keeps its last lines for error messages.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use mcp_aql_client::process::{Process, StderrTail};
//! use tokio::process::Command;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let stderr_tail = StderrTail::new(3, 200, str::to_owned);
//! let (mut process, stdout, stdin) = Process::start(Command::new("cat"), None, &stderr_tail)?;
//! drop((stdout, stdin));
//! let status = process.end(Duration::from_secs(10)).await;
//! # Ok(())
//! # }
//! ```

#[cfg(unix)]
mod descendants;
#[cfg_attr(not(unix), path = "without_group.rs")]
mod group;
#[cfg(unix)]
mod guard;
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), path = "without_pidfd.rs")]
mod pidfd;
mod stderr_tail;

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

use group::ProcessGroup;
pub use stderr_tail::StderrTail;

/// Time for a process to exit after it was asked to terminate.
const TERMINATE_GRACE_PERIOD: Duration = Duration::from_millis(250);
/// Time limit for the system to kill a process.
const KILL_TIMEOUT: Duration = Duration::from_millis(150);

/// A process and its descendants. Dropping it kills them.
#[derive(Debug)]
pub struct Process {
    // The group is dropped before the child is reaped: until then its process id cannot be reused.
    group: ProcessGroup,
    child: Child,
    /// Keeps the reader of standard error running until the process is dropped.
    _reads_stderr: oneshot::Sender<()>,
}

impl Process {
    /// Starts the process with pipes for its standard input, output and error. Returns the output
    /// and the input; `stderr_tail` reads the error output.
    ///
    /// `mark` is the name of an environment variable to set for the process and its descendants.
    /// With a mark, descendants that leave the process group are ended as well, and a shell ends
    /// all of them if this program is killed. Both depend on `/proc`. Without a mark, only the
    /// process group is ended.
    ///
    /// # Errors
    ///
    /// Returns an error if the program does not exist or cannot be started.
    pub fn start(
        mut command: Command,
        mark: Option<&str>,
        stderr_tail: &Arc<StderrTail>,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let (mut child, group) = ProcessGroup::spawn(command, mark)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let reads_stderr = stderr_tail.read_from(stderr);
        Ok((Self { group, child, _reads_stderr: reads_stderr }, stdout, stdin))
    }

    /// Ends the process and the processes that it left behind. Close its standard input first: this
    /// is how a process learns that it should exit.
    ///
    /// A process still running after the grace period is asked to terminate, and is killed 250
    /// milliseconds later. Returns the exit status if the process exited on its own.
    pub async fn end(&mut self, grace_period: Duration) -> Option<ExitStatus> {
        self.group.find_descendants();
        let by_itself = self.exit_status_within(grace_period).await;
        let mut has_ended = by_itself.is_some();
        if !has_ended {
            self.group.terminate();
            has_ended = self.exit_status_within(TERMINATE_GRACE_PERIOD).await.is_some();
        }
        self.group.kill();
        if !has_ended {
            // Only needed on systems without process groups.
            let _ = self.child.start_kill();
            let _ = self.exit_status_within(KILL_TIMEOUT).await;
        }
        by_itself
    }

    /// Waits until the process exits. Returns its exit status, or `None` if the time limit passes
    /// first.
    pub async fn exit_status_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        timeout(limit, self.child.wait()).await.ok()?.ok()
    }

    /// Kills all processes of the group. After the process has exited, there are usually none left.
    pub fn kill_group(&mut self) {
        self.group.kill();
    }
}
