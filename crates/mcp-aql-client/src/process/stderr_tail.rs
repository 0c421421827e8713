//! Keeps the last lines of a process's standard error.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// Time for which standard error is still read after the process has ended.
const READ_GRACE_PERIOD: Duration = Duration::from_millis(300);

/// The last lines that processes wrote to their standard error, with secrets masked.
///
/// Show them to your user when a process fails: they usually contain the reason. One buffer may
/// serve several processes, for example a server and its replacement after a restart.
pub struct StderrTail {
    max_lines: usize,
    max_line_chars: usize,
    /// Masks secrets in a line. This happens before the line is shortened, so that no part of a
    /// secret remains at the cut.
    mask: Box<dyn Fn(&str) -> String + Send + Sync>,
    lines: Mutex<VecDeque<String>>,
    /// Number of processes whose standard error is being read.
    readers: watch::Sender<usize>,
}

impl fmt::Debug for StderrTail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StderrTail").finish_non_exhaustive()
    }
}

impl StderrTail {
    /// Creates an empty buffer for `max_lines` lines. Each is shortened to `max_line_chars`
    /// characters after `mask` has removed its secrets.
    pub fn new(
        max_lines: usize,
        max_line_chars: usize,
        mask: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Arc<Self> {
        let lines = Mutex::new(VecDeque::with_capacity(max_lines));
        let (mask, readers) = (Box::new(mask), watch::Sender::default());
        Arc::new(Self { max_lines, max_line_chars, mask, lines, readers })
    }

    /// Returns all lines, the oldest first.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Waits until the output of ended processes has been read completely. Call this before
    /// [`lines`](Self::lines) once a process has exited.
    pub async fn wait_until_read(&self) {
        let mut readers = self.readers.subscribe();
        let _ = timeout(READ_GRACE_PERIOD, readers.wait_for(|count| *count == 0)).await;
    }

    /// Spawns a task that reads standard error. Drop the returned sender when the process ends. The
    /// task stops shortly afterwards even without an end of input, because other processes may hold
    /// the pipe open.
    pub(super) fn read_from(
        self: &Arc<Self>,
        stderr: impl AsyncRead + Send + Unpin + 'static,
    ) -> oneshot::Sender<()> {
        let (process, is_over) = oneshot::channel();
        let tail = Arc::clone(self);
        tail.readers.send_modify(|count| *count += 1);
        tokio::spawn(async move {
            tokio::select! {
                () = tail.read_lines(stderr) => {}
                () = async {
                    let _ = is_over.await;
                    tokio::time::sleep(READ_GRACE_PERIOD).await;
                } => {}
            }
            tail.readers.send_modify(|count| *count -= 1);
        });
        process
    }

    /// Reads all output, so that the process never blocks on a full pipe, and keeps the last lines.
    async fn read_lines(&self, mut stderr: impl AsyncRead + Unpin) {
        // More bytes of a line are read than are kept, so that a secret at the cut is still
        // recognized.
        let max_bytes = 16 * self.max_line_chars;
        let mut line = Vec::new();
        let mut buffer = vec![0; 4096];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            let bytes = buffer.get(..count).unwrap_or_default();
            for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                let room = max_bytes.saturating_sub(line.len()).min(part.len());
                line.extend_from_slice(part.get(..room).unwrap_or_default());
                if part.ends_with(b"\n") {
                    self.add(&line);
                    line.clear();
                }
            }
        }
        self.add(&line);
    }

    fn add(&self, line: &[u8]) {
        let text = (self.mask)(&String::from_utf8_lossy(line));
        let text: String = text.trim().chars().take(self.max_line_chars).collect();
        if text.is_empty() {
            return;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == self.max_lines {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_LINES: usize = 20;
    const MAX_LINE_CHARS: usize = 500;

    #[tokio::test]
    async fn keeps_the_last_lines_masked_and_shortened() {
        let tail =
            StderrTail::new(MAX_LINES, MAX_LINE_CHARS, |line| line.replace("hunter2", "***"));
        let mut text = (0..100).map(|n| format!("line {n}\r\n")).collect::<String>();
        text.push_str("\npassword hunter2 and hunter2\n");
        text.push_str(&"x".repeat(1_000_000));
        text.push_str(&format!("\n{}hunter2\nno end", "y".repeat(MAX_LINE_CHARS - 5)));
        tail.read_lines(text.as_bytes()).await;
        let lines = tail.lines();
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines[0], "line 84");
        assert_eq!(lines[MAX_LINES - 4], "password *** and ***");
        assert_eq!(lines[MAX_LINES - 3].len(), MAX_LINE_CHARS);
        assert!(lines[MAX_LINES - 2].ends_with("y***"));
        assert_eq!(lines[MAX_LINES - 1], "no end");
    }

    #[tokio::test]
    async fn reading_ends_shortly_after_the_process() {
        let tail = StderrTail::new(MAX_LINES, MAX_LINE_CHARS, str::to_owned);
        let (_writer, stderr) = tokio::io::duplex(100);
        let process = tail.read_from(stderr);
        assert_eq!(*tail.readers.borrow(), 1);
        drop(process);
        let mut readers = tail.readers.subscribe();
        readers.wait_for(|count| *count == 0).await.unwrap();
    }
}
