//! Standard input and output as pipes. Linux can read them without a thread.

use std::fs::File;
use std::os::fd::AsFd as _;

use tokio::net::unix::pipe::OpenOptions;

use super::{Input, Writer};

/// Returns standard input and output if both are pipes.
///
/// The pipes are reopened. Otherwise other users of these streams, such as child processes, would find them in
/// non-blocking mode.
pub(super) fn standard_pipes() -> Option<(Input, Writer)> {
    let read = OpenOptions::new().open_receiver("/proc/self/fd/0").ok()?;
    let write = OpenOptions::new().open_sender("/proc/self/fd/1").ok()?;
    let without_waiting = read.as_fd().try_clone_to_owned().ok().map(File::from);
    Some((Input { without_waiting, ..Input::new(read) }, Box::new(write)))
}
