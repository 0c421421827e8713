//! Ends child processes after this process is killed.
//!
//! A small shell waits at the other end of a pipe and receives the list of process groups. When the
//! system closes the pipe, however this process ends, the shell kills the groups of the last list.
//! A parent-death signal would not reach grandchildren, such as those that `npx` starts, and is
//! tied to the thread that started the child. Where `/proc` exists, the shell also kills processes
//! that have left their group and whose environment contains the mark of their parent.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// Each line is the whole list. `read` ignores an incomplete line, so the previous list stays
/// valid.
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

/// Removes a process group that has ended, because its id may be reused.
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
        // The shell was not needed before, or has ended.
        self.stop_shell();
        self.shell = start().ok();
        if self.shell.is_none() || self.write().is_err() {
            // Without the shell, child processes only see the end of their input.
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

    /// Kills the shell without letting it act on its list, which may be outdated.
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
        // A signal to this process's own group does not reach the shell.
        .process_group(0)
        .spawn()?;
    Ok(shell)
}
