//! Ends child processes after this process was killed.
//!
//! A small shell reads lists of process groups from a pipe, one list per line. The system closes
//! the pipe when this process ends, even by SIGKILL. The shell then kills the groups of the last
//! list:
//!
//! ```text
//! 4711
//! 4711 4712
//! 4712
//! ```
//!
//! A parent-death signal would not do: it is tied to the thread that started the child, and
//! does not reach grandchildren such as those that `npx` starts. If `/proc` exists, the shell also
//! kills processes that have left their group. It recognizes them by the mark in their environment.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// Each line is the complete list. `read` ignores an incomplete line, so the previous list stays
/// valid if this process is killed while it writes.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "-$group"; done
for file in /proc/[0-9]*/environ; do
  if grep -qsaF -- "$1" "$file"; then
    process=${file#/proc/}
    kill -s KILL "${process%/environ}"
  fi
done
"#;

static GUARD: Mutex<Guard> = Mutex::new(Guard { groups: BTreeSet::new(), shell: None });

struct Guard {
    groups: BTreeSet<i32>,
    shell: Option<Child>,
}

/// Adds a process group to the list.
pub(super) fn watch(leader: Pid) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    guard.groups.insert(leader.as_raw_nonzero().get());
    guard.update();
}

/// Removes a process group from the list after it has ended, because its id may be reused.
pub(super) fn forget(leader: Pid) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.groups.remove(&leader.as_raw_nonzero().get()) {
        guard.update();
    }
}

impl Guard {
    fn update(&mut self) {
        if self.groups.is_empty() {
            return self.stop_shell();
        }
        if self.shell.is_some() && self.write().is_ok() {
            return;
        }
        // The first group needs a new shell, and so does a list that the old one did not read.
        self.stop_shell();
        self.shell = start().ok();
        if self.shell.is_none() || self.write().is_err() {
            // This is not an error: the child processes still see the end of their input.
            tracing::debug!(
                "cannot start the shell that ends child processes after this process is killed"
            );
            self.stop_shell();
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let mut line = String::new();
        for group in &self.groups {
            line.push_str(&group.to_string());
            line.push(' ');
        }
        line.push('\n');
        let stdin = self.shell.as_mut().and_then(|shell| shell.stdin.as_mut());
        stdin.ok_or(io::ErrorKind::NotConnected)?.write_all(line.as_bytes())
    }

    /// Kills the shell before it can act on its list, because the list may be outdated.
    fn stop_shell(&mut self) {
        if let Some(mut shell) = self.shell.take() {
            let _ = shell.kill();
            let _ = shell.wait();
        }
    }
}

fn start() -> io::Result<Child> {
    let shell = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "sh", super::descendants::common_mark()])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Signals to this process's own group, such as Ctrl-C, must not reach the shell.
        .process_group(0)
        .spawn()?;
    Ok(shell)
}
