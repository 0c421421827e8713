//! A process group, and the descendants of its leader outside of it.

use std::io;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::descendants::{Descendants, new_mark};
use super::guard;

/// The process group of a child. Dropping it kills its processes.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    /// The leader, or `None` once the group was killed, because the system may then reuse its id.
    leader: Option<Pid>,
    /// The descendants of the leader, if it is marked.
    descendants: Option<Descendants>,
}

impl ProcessGroup {
    /// Starts a process as the leader of its own group. The whole group can then be ended at once,
    /// and Ctrl-C in the terminal does not reach it.
    pub(super) fn spawn(mut command: Command, mark: Option<&str>) -> io::Result<(Child, Self)> {
        let mark = mark.map(|variable| (variable, new_mark()));
        if let Some((variable, value)) = &mark {
            command.env(variable, value);
        }
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id.and_then(Pid::from_raw);
        if let Some(leader) = leader
            && mark.is_some()
        {
            guard::watch(leader);
        }
        let descendants = mark.map(|(variable, value)| {
            Descendants::of(leader, format!("{variable}={value}").into_bytes())
        });
        Ok((child, Self { leader, descendants }))
    }

    /// Records the descendants. Call this while their parents still exist.
    pub(super) fn find_descendants(&mut self) {
        if let Some(descendants) = &mut self.descendants {
            descendants.find();
        }
    }

    /// Asks the processes of the group to exit.
    pub(super) fn terminate(&self) {
        if let Some(leader) = self.leader {
            let _ = kill_process_group(leader, Signal::TERM);
        }
    }

    /// Kills the group and the descendants outside of it. Further calls have no effect.
    pub(super) fn kill(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        self.find_descendants();
        let _ = kill_process_group(leader, Signal::KILL);
        if let Some(descendants) = &mut self.descendants {
            descendants.kill();
            guard::forget(leader);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
