//! Standard input and output as pipes, which Linux reads without a thread.

use std::os::unix::fs::FileTypeExt as _;

use rmcp::transport::io::stdio_pipes;

use super::pipe::{Reader, Writer};

/// Returns standard input and output if both are pipes.
pub(super) fn standard_pipes() -> Option<(Reader, Writer)> {
    let is_pipe = |stream: &str| {
        std::fs::metadata(stream).is_ok_and(|metadata| metadata.file_type().is_fifo())
    };
    if !is_pipe("/proc/self/fd/0") || !is_pipe("/proc/self/fd/1") {
        return None;
    }
    let (read, write) = stdio_pipes();
    Some((Box::new(read), Box::new(write)))
}
