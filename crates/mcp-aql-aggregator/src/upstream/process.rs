//! The child process of a server: its minimal environment, its standard error, and its end.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp_aql_client::process::{Process, StderrTail};
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::secrets::Secrets;

/// Variables inherited by a process on Unix. They are enough to find programs and files.
const INHERITED_ON_UNIX: &[&str] = &["PATH", "HOME", "LANG", "TMPDIR"];
/// Variables inherited on Windows. Programs do not start without them.
const INHERITED_ON_WINDOWS: &[&str] = &[
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
/// The variable that marks the descendants of a server.
pub(super) const MARK: &str = "MCP_AQL_AGGREGATOR_SERVER";
/// Time for a process to exit after its standard input is closed. Together with the times for
/// terminating and killing it, closing takes less than a second.
pub(super) const EXIT_GRACE_PERIOD: Duration = Duration::from_millis(500);
/// Maximum number of lines kept of standard error.
const MAX_STDERR_LINES: usize = 20;
/// Maximum length of each such line in characters.
const MAX_STDERR_LINE_CHARS: usize = 500;

/// Describes a process to start.
pub(super) struct Start<'a> {
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) cwd: Option<&'a Path>,
    /// A variable that identifies the aggregators above the process.
    pub(super) route: (&'a str, &'a str),
}

impl Start<'_> {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// Returns an error if the program does not exist or cannot be started.
    pub(super) fn start(
        &self,
        stderr_tail: &Arc<StderrTail>,
    ) -> io::Result<(Process, ChildStdout, ChildStdin)> {
        let mut command = Command::new(self.command);
        command.args(self.args).env_clear();
        let inherited = if cfg!(windows) { INHERITED_ON_WINDOWS } else { INHERITED_ON_UNIX };
        command.envs(inherited.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(self.env).env(self.route.0, self.route.1);
        if let Some(cwd) = self.cwd {
            command.current_dir(cwd);
        }
        Process::start(command, Some(MARK), stderr_tail)
    }

    /// Returns the reason why the process was not started, for the operator.
    pub(super) fn describe_error(&self, error: &io::Error) -> String {
        let Start { command, cwd, .. } = self;
        match cwd.filter(|cwd| !cwd.is_dir()) {
            // The system reports the same error for a missing folder and a missing program.
            Some(cwd) => format!("`cwd`: the folder {} does not exist", cwd.display()),
            None if error.kind() == io::ErrorKind::NotFound => {
                format!("`command`: '{command}' is not found: install it, or write its full path")
            }
            None => format!("`command`: '{command}' cannot be started: {error}"),
        }
    }
}

/// Creates a buffer for the last lines of standard error, without the secrets passed to the server.
/// Show them on the operator's terminal only, not in logs.
pub(super) fn stderr_tail(secrets: Arc<Secrets>) -> Arc<StderrTail> {
    StderrTail::new(MAX_STDERR_LINES, MAX_STDERR_LINE_CHARS, move |line| {
        secrets.hidden(line).chars().filter(|each| !each.is_control()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[cfg(unix)]
    async fn standard_error_is_kept_without_secrets() {
        let secrets = ["hunter2", "hunter2-long", "a"].map(str::to_owned);
        let tail = stderr_tail(Arc::new(Secrets::new(secrets)));
        let script = r"printf '\n\033[31mpassword hunter2-long and hunter2\007\nno end' >&2";
        let start = Start {
            command: "sh",
            args: &["-c".to_owned(), script.to_owned()],
            env: &BTreeMap::new(),
            cwd: None,
            route: ("ROUTE", ""),
        };
        let (mut process, _stdout, _stdin) = start.start(&tail).unwrap();
        process.end(Duration::from_secs(60)).await;
        tail.wait_until_read().await;
        assert_eq!(tail.lines(), ["[31mpassword *** and ***", "no end"]);
    }
}
