//! Connects with one message per line, over the pipes of a process or in memory.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcp_aql_client::lines::{LineEvent, LineReader};
use mcp_aql_client::process::{Process, StderrTail};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinHandle;

use super::inbox::{Inbox, MAX_MESSAGE_BYTES};
use super::{Link, NoResponse, Outgoing, Tap};

/// Time for a process to exit after it closed its standard output.
const EXIT_TIMEOUT: Duration = Duration::from_millis(300);

/// The process on the other side. It provides the reason for the end of a connection.
#[derive(Debug, Clone)]
pub(super) struct ProcessEnd {
    pub(super) process: Arc<AsyncMutex<Process>>,
    pub(super) stderr_tail: Arc<StderrTail>,
}

impl ProcessEnd {
    /// Describes the end of the process after it has closed its standard output.
    async fn describe(&self) -> String {
        let status = {
            let mut process = self.process.lock().await;
            let status = process.exit_status_within(EXIT_TIMEOUT).await;
            if status.is_some() {
                process.kill_group();
            }
            status
        };
        let status = match status {
            Some(status) => format!("the process exited, {status}"),
            None => "the process closed its standard output".to_owned(),
        };
        // Lines of standard error may arrive slightly later.
        self.stderr_tail.wait_until_read().await;
        let last_lines = self.stderr_tail.lines().join(" / ");
        match last_lines.is_empty() {
            true => status,
            false => format!("{status}; its last lines on standard error: {last_lines}"),
        }
    }
}

/// A line-based connection.
pub(super) struct Lines {
    writer: AsyncMutex<Box<dyn AsyncWrite + Send + Unpin>>,
    inbox: Arc<Inbox>,
    reading: JoinHandle<()>,
    process: Option<ProcessEnd>,
}

impl Lines {
    /// Creates a connection to a process, or to a task in this process.
    pub(super) fn new(
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
        tap: Arc<Tap>,
        process: Option<ProcessEnd>,
    ) -> Self {
        let inbox = Inbox::new(tap);
        let reading = tokio::spawn(receive(read, Arc::clone(&inbox), process.clone()));
        let writer = AsyncMutex::new(Box::new(write) as Box<_>);
        Self { writer, inbox, reading, process }
    }

    /// Returns why the connection ended. Waits a short time, because the writer notices the end slightly before the
    /// reading task.
    async fn end(&self) -> Option<NoResponse> {
        for _ in 0..50 {
            if let Some(why) = self.inbox.ended() {
                return Some(why);
            }
            tokio::time::sleep(EXIT_TIMEOUT / 25).await;
        }
        None
    }

    pub(super) fn into_link(self) -> Link {
        let inbox = Arc::clone(&self.inbox);
        Link { outgoing: Arc::new(self), inbox }
    }
}

/// A partially written line.
///
/// If the sender is canceled while writing, the next message would continue the line. The connection is closed instead.
struct PartialLine<'a> {
    inbox: &'a Inbox,
    is_half: bool,
}

impl Drop for PartialLine<'_> {
    fn drop(&mut self) {
        if self.is_half {
            self.inbox.end(NoResponse::Closed("only a part of a request was written".to_owned()));
        }
    }
}

impl Outgoing for Lines {
    fn send<'a>(&'a self, message: &'a [u8]) -> BoxFuture<'a, Result<(), NoResponse>> {
        Box::pin(async move {
            let mut writer = self.writer.lock().await;
            let mut half = PartialLine { inbox: &self.inbox, is_half: false };
            let written = async {
                for mut rest in [message, b"\n"] {
                    while !rest.is_empty() {
                        let count = writer.write(rest).await?;
                        if count == 0 {
                            return Err(std::io::ErrorKind::WriteZero.into());
                        }
                        half.is_half = true;
                        rest = rest.get(count..).unwrap_or_default();
                    }
                }
                half.is_half = false;
                writer.flush().await
            };
            match written.await {
                Ok(()) => Ok(()),
                Err(error) => {
                    Err(self.end().await.unwrap_or(NoResponse::Closed(error.to_string())))
                }
            }
        })
    }

    fn close(&self, limit: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Closing fails if the other side is gone.
            let _ = self.writer.lock().await.shutdown().await;
            *self.writer.lock().await = Box::new(tokio::io::sink());
            if let Some(ended) = &self.process {
                ended.process.lock().await.end(limit).await;
            }
        })
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // If the lock is taken, the reading task is waiting for the exit. The process is then killed when the task
        // drops it.
        if let Some(ended) = &self.process
            && let Ok(mut process) = ended.process.try_lock()
        {
            process.kill_group();
        }
        self.reading.abort();
    }
}

/// Reads lines until the other side closes or exceeds a limit.
async fn receive(
    read: impl AsyncRead + Send + Unpin,
    inbox: Arc<Inbox>,
    process: Option<ProcessEnd>,
) {
    let mut lines = LineReader::new(read);
    loop {
        match lines.next(|| MAX_MESSAGE_BYTES).await {
            LineEvent::Line(line) => {
                let text = line.trim_ascii();
                let goes_on =
                    if text.is_empty() { inbox.unrequested(text) } else { inbox.take(text) };
                if !goes_on {
                    return;
                }
            }
            LineEvent::End(rest) => {
                if !rest.is_empty() {
                    inbox.take(rest);
                }
                break;
            }
            LineEvent::OversizedStart(_) | LineEvent::OversizedEnd(_) | LineEvent::Endless => {
                return inbox.end(NoResponse::TooLong(MAX_MESSAGE_BYTES));
            }
        }
    }
    let why = match process {
        Some(ended) => ended.describe().await,
        None => "the adapter stopped serving".to_owned(),
    };
    inbox.end(NoResponse::Closed(why));
}
