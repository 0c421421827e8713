//! Signals to a process by its file descriptor, which is not reused as a process id is.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Kills the process of this id if `is_same` recognizes it after it can no longer be replaced by
/// another one. Returns false if the system has no such file descriptors.
pub(super) fn kill_if(pid: Pid, is_same: impl FnOnce() -> bool) -> bool {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => {
            if is_same() {
                let _ = pidfd_send_signal(process, Signal::KILL);
            }
            true
        }
        // Linux before 5.3.
        Err(error) => error != Errno::NOSYS,
    }
}
