//! Signals to a process by its file descriptor. Unlike a process id, the descriptor is not reused.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Kills a process if `is_same` recognizes it. `is_same` runs while the descriptor is open, so no
/// other process can take the id between the check and the signal.
///
/// Returns `false` if the system has no such file descriptors.
pub(super) fn kill_if(pid: Pid, is_same: impl FnOnce() -> bool) -> bool {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => {
            if is_same() {
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
            true
        }
        // Linux has these descriptors since version 5.3.
        Err(error) => error != Errno::NOSYS,
    }
}
