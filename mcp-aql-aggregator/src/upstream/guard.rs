//! Ends what this process has started when this process is killed, which it cannot see to itself.
//!
//! A small shell waits at the other end of a pipe. It is told which process groups there are; when the pipe
//! is closed, which the system does however we end, it kills those of its last list. Asking the system to
//! signal children when their parent dies would reach no grandchildren, such as what `npx` starts, and is
//! tied to the thread that started them. Where there is `/proc`, the shell also kills the processes that have
//! left their group and whose environment has our mark.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// Each line is the whole list, so that half a line, which `read` does not take, leaves the last one valid.
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

/// From now on, this group ends with us.
pub(super) fn watch(leader: Pid) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    guard.groups.insert(leader.as_raw_nonzero().get());
    guard.tell();
}

/// This group has ended: its number may soon be somebody else's.
pub(super) fn forget(leader: Pid) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.groups.remove(&leader.as_raw_nonzero().get()) {
        guard.tell();
    }
}

impl Guard {
    fn tell(&mut self) {
        if self.groups.is_empty() {
            return self.dismiss();
        }
        if self.shell.is_some() && self.write().is_ok() {
            return;
        }
        // It was not needed so far, or somebody has ended it.
        self.dismiss();
        self.shell = start().ok();
        if self.shell.is_none() || self.write().is_err() {
            // Then servers only see their input end.
            tracing::debug!("there is no shell to end servers with, should this process be killed");
            self.dismiss();
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

    /// Ends the shell without its list, which may not hold any more.
    fn dismiss(&mut self) {
        if let Some(mut shell) = self.shell.take() {
            let _ = shell.kill();
            let _ = shell.wait();
        }
    }
}

fn start() -> io::Result<Child> {
    let shell = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "sh", &super::descendants::common_mark()])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends our own group shall not end it.
        .process_group(0)
        .spawn()?;
    Ok(shell)
}
