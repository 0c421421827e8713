//! Standard input and output as pipes, which Linux reads without a thread.

use tokio::net::unix::pipe::OpenOptions;

use super::pipe::{Reader, Writer};

/// Returns standard input and output if both are pipes.
///
/// The pipes are opened once more, so that other users of these streams, such as child processes,
/// do not find them in non-blocking mode.
pub(super) fn standard_pipes() -> Option<(Reader, Writer)> {
    let read = OpenOptions::new().open_receiver("/proc/self/fd/0").ok()?;
    let write = OpenOptions::new().open_sender("/proc/self/fd/1").ok()?;
    Some((Box::new(read), Box::new(write)))
}
