//! The queue of outgoing lines, and the destinations of answers: a line, or the answer to a batch. Several lines are
//! written at once.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::util::{erased, lock};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

use crate::mcp::batch_budget::BatchBudget;
use crate::mcp::progress::{Notifier, ProgressParams, TASK_STATUS_NOTIFICATION};

/// Queue size at which no further input is read, in bytes. If a client does not read its answers, further calls have to
/// wait, so the answers do not accumulate.
const MAX_QUEUED_BYTES: usize = 1 << 20;
/// Queue size at which the reader lets the writer run first, in bytes.
const MAX_UNWRITTEN_BYTES: usize = 64 << 10;
/// Capacity above which an emptied buffer is freed, in bytes.
const MAX_SPARE_BYTES: usize = 256 << 10;

/// The queue of lines to write. Clones share the same queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox(Arc<OutboxState>);

#[derive(Debug, Default)]
struct OutboxState {
    waiting: Mutex<QueuedLines>,
    /// Notified when a line was added to the empty queue, or when the queue was closed.
    filled: Notify,
    /// Notified when the writer took the queued lines.
    emptied: Notify,
    /// Number of unanswered calls.
    running: AtomicUsize,
    /// Notified when `running` becomes zero.
    idle: Notify,
}

#[derive(Debug, Default)]
struct QueuedLines {
    lines: Vec<u8>,
    /// If `true`, lines taken from the queue are still being written.
    writing: bool,
    /// If `true`, no further lines are accepted.
    closed: bool,
}

/// Counts a call as unanswered until it is dropped.
#[derive(Debug)]
pub(super) struct PendingAnswer(Arc<OutboxState>);

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

impl Outbox {
    fn waiting(&self) -> std::sync::MutexGuard<'_, QueuedLines> {
        lock(&self.0.waiting)
    }

    /// Counts a new call as unanswered.
    pub(super) fn expect_one(&self) -> PendingAnswer {
        self.0.running.fetch_add(1, Ordering::AcqRel);
        PendingAnswer(Arc::clone(&self.0))
    }

    /// Returns `true` if all lines were written.
    pub(super) fn is_empty(&self) -> bool {
        let waiting = self.waiting();
        waiting.lines.is_empty() && !waiting.writing
    }

    /// Returns `true` if the queued lines should be written before more messages are read.
    pub(super) fn is_long(&self) -> bool {
        self.waiting().lines.len() > MAX_UNWRITTEN_BYTES
    }

    /// Returns the number of unanswered calls.
    pub(super) fn running(&self) -> usize {
        self.0.running.load(Ordering::Acquire)
    }

    /// Waits until all calls are answered.
    pub(super) async fn idle(&self) {
        loop {
            let idle = self.0.idle.notified();
            if self.running() == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Appends a line. `write` must not write the line terminator.
    pub(super) fn push(&self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.push_last(None, write)
    }

    /// Appends the answer of a call and ends the call, so that the writer does not wait for further answers.
    pub(super) fn push_last(
        &self,
        call: Option<PendingAnswer>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let first = self.append(write)?;
        drop(call);
        if first {
            self.0.filled.notify_one();
        }
        Ok(())
    }

    /// Appends a line from the task that polls [`write_to`](Self::write_to), without waking it. Waking a running task
    /// would start another thread of the runtime.
    pub(super) fn push_in_writer_task(&self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.append(write).map(drop)
    }

    /// Appends a line. Returns `true` if the queue was empty.
    fn append(&self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<bool> {
        let mut waiting = self.waiting();
        if waiting.closed {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let first = waiting.lines.is_empty();
        write(&mut waiting.lines);
        waiting.lines.push(b'\n');
        Ok(first)
    }

    /// Waits until the queue has lines or is closed. It checks the queue on every poll, because
    /// [`push_in_writer_task`](Self::push_in_writer_task) does not notify it.
    async fn filled(&self) {
        let mut notified = pin!(self.0.filled.notified());
        poll_fn(|context| {
            let is_filled = {
                let waiting = self.waiting();
                waiting.closed || !waiting.lines.is_empty()
            };
            match is_filled {
                true => Poll::Ready(()),
                false => notified.as_mut().poll(context),
            }
        })
        .await;
    }

    /// Waits until the queue has capacity for further answers.
    pub(super) async fn wait_for_capacity(&self) {
        loop {
            let emptied = self.0.emptied.notified();
            {
                let waiting = self.waiting();
                if waiting.lines.len() < MAX_QUEUED_BYTES || waiting.closed {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Closes the queue. Lines already queued are still written.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.0.filled.notify_one();
        self.0.emptied.notify_waiters();
    }

    /// Writes queued lines until the queue is closed and empty, or until the client stops reading.
    pub(super) async fn write_to<W: AsyncWrite + Unpin>(&self, mut writer: W) -> io::Result<()> {
        let mut lines = Vec::new();
        loop {
            self.filled().await;
            if self.running() > 0 {
                // Other answers may be almost ready. Let them join this write.
                tokio::task::yield_now().await;
            }
            let closed = {
                let mut waiting = self.waiting();
                std::mem::swap(&mut lines, &mut waiting.lines);
                waiting.writing = true;
                waiting.closed
            };
            self.0.emptied.notify_waiters();
            let written = async {
                writer.write_all(&lines).await?;
                writer.flush().await
            };
            if let Err(error) = written.await {
                let mut waiting = self.waiting();
                waiting.closed = true;
                waiting.lines = Vec::new();
                drop(waiting);
                self.0.emptied.notify_waiters();
                return Err(error);
            }
            self.waiting().writing = false;
            lines.clear();
            lines.shrink_to(MAX_SPARE_BYTES);
            if closed {
                return writer.shutdown().await;
            }
        }
    }
}

impl Notifier for Outbox {
    fn notify(&self, params: ProgressParams) -> BoxFuture<'_, ()> {
        erased(push_notification(self, "notifications/progress", params))
    }

    fn notify_task(&self, task: Value) -> BoxFuture<'_, ()> {
        erased(push_notification(self, TASK_STATUS_NOTIFICATION, task))
    }
}

async fn push_notification(outbox: &Outbox, method: &str, params: impl Serialize) {
    outbox.wait_for_capacity().await;
    let pushed = outbox.push(|line| {
        line.extend(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":"#).bytes());
        // Serializing numbers and strings cannot fail, and neither can writing to a `Vec`.
        let _ = serde_json::to_writer(&mut *line, &params);
        line.push(b'}');
    });
    if let Err(error) = pushed {
        tracing::debug!(%error, "a notification could not be sent");
    }
}

/// The destination of the answer to a message.
#[derive(Debug, Clone)]
pub(super) enum AnswerTarget {
    /// A separate line.
    Line(Outbox),
    /// The collected answers to the batch with this message.
    Batch(Arc<BatchAnswers>),
}

impl AnswerTarget {
    /// Returns the size budget of the batch, if the message belongs to one.
    pub(super) fn batch_budget(&self) -> Option<&BatchBudget> {
        match self {
            Self::Line(_) => None,
            Self::Batch(batch) => Some(&batch.budget),
        }
    }

    /// Adds an answer and ends the call.
    pub(super) fn push(
        &self,
        call: PendingAnswer,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        match self {
            Self::Line(outbox) => outbox.push_last(Some(call), write),
            Self::Batch(batch) => {
                batch.push(write);
                Ok(())
            }
        }
    }

    /// Adds an answer from the task that reads messages and writes answers.
    pub(super) fn push_in_writer_task(&self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        match self {
            Self::Line(outbox) => outbox.push_in_writer_task(write),
            Self::Batch(batch) => {
                batch.push(write);
                Ok(())
            }
        }
    }
}

/// The answers to a JSON-RPC batch. They are sent as one line when the last clone is dropped.
#[derive(Debug)]
pub(super) struct BatchAnswers {
    outbox: Outbox,
    running: Mutex<Option<PendingAnswer>>,
    answers: Mutex<Vec<u8>>,
    budget: BatchBudget,
}

impl BatchAnswers {
    /// Creates an empty collection. Its answers are sent to the outbox.
    pub(super) fn new(outbox: Outbox, budget: BatchBudget) -> Self {
        let running = Mutex::new(Some(outbox.expect_one()));
        Self { outbox, running, answers: Mutex::default(), budget }
    }

    fn push(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut answers = lock(&self.answers);
        if !answers.is_empty() {
            answers.push(b',');
        }
        write(&mut answers);
    }
}

impl Drop for BatchAnswers {
    fn drop(&mut self) {
        let answers = std::mem::take(&mut *lock(&self.answers));
        if answers.is_empty() {
            // A batch that contains only notifications has no answers.
            return;
        }
        let pushed = self.outbox.push_last(lock(&self.running).take(), |line| {
            line.push(b'[');
            line.extend(answers);
            line.push(b']');
        });
        if let Err(error) = pushed {
            tracing::debug!(%error, "answers were not sent: the client is gone");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::Pin;
    use std::task::Context;
    use tokio::io::AsyncReadExt as _;

    /// A writer that counts its writes.
    #[derive(Clone, Default)]
    struct Counted(Arc<Mutex<(usize, Vec<u8>)>>);

    impl AsyncWrite for Counted {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let mut inner = self.0.lock().unwrap();
            inner.0 += 1;
            inner.1.extend_from_slice(bytes);
            Poll::Ready(Ok(bytes.len()))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn answers_that_are_ready_go_out_in_one_write() {
        let outbox = Outbox::default();
        let running: Vec<_> = (0..64).map(|_| outbox.expect_one()).collect();
        let writer = Counted::default();
        let calls: Vec<_> = running
            .into_iter()
            .enumerate()
            .map(|(index, running)| {
                let outbox = outbox.clone();
                tokio::spawn(async move {
                    outbox.push(|line| line.extend(index.to_string().bytes())).unwrap();
                    drop(running);
                })
            })
            .collect();
        let closing = outbox.clone();
        tokio::spawn(async move {
            for call in calls {
                call.await.unwrap();
            }
            closing.close();
        });
        outbox.write_to(writer.clone()).await.unwrap();
        let (writes, bytes) = writer.0.lock().unwrap().clone();
        assert!(writes <= 3, "{writes} writes");
        let mut lines: Vec<usize> =
            String::from_utf8(bytes).unwrap().lines().map(|line| line.parse().unwrap()).collect();
        lines.sort_unstable();
        assert_eq!(lines, (0..64).collect::<Vec<_>>(), "every answer once");
        assert!(outbox.push(|_| {}).is_err(), "nothing goes in after the end");
    }

    #[tokio::test]
    async fn a_reader_that_stops_holds_up_the_next_call_and_no_more() {
        let outbox = Outbox::default();
        let (writer, mut reader) = tokio::io::duplex(1024);
        let writing = outbox.clone();
        let task = tokio::spawn(async move { writing.write_to(writer).await });
        for _ in 0..2 {
            outbox.push(|line| line.extend(std::iter::repeat_n(b'x', MAX_QUEUED_BYTES))).unwrap();
            tokio::task::yield_now().await;
        }
        let waits = outbox.clone();
        let mut waits = tokio::spawn(async move { waits.wait_for_capacity().await });
        let soon = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, &mut waits).await.is_err(), "there was capacity");
        outbox.close();
        waits.await.unwrap();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).await.unwrap();
        assert_eq!(read.len(), 2 * (MAX_QUEUED_BYTES + 1));
        task.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn lines_that_are_being_written_are_not_written_yet() {
        let outbox = Outbox::default();
        let (writer, mut reader) = tokio::io::duplex(4);
        let mut writing = pin!(outbox.write_to(writer));
        outbox.push_in_writer_task(|line| line.extend(b"abcdef")).unwrap();
        assert!(mcp_aql_core::internal::util::poll_once(&mut writing).await.is_pending());
        assert!(!outbox.is_empty());
        let mut read = [0; 4];
        reader.read_exact(&mut read).await.unwrap();
        assert!(mcp_aql_core::internal::util::poll_once(&mut writing).await.is_pending());
        assert!(outbox.is_empty());
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_ends_it() {
        let outbox = Outbox::default();
        let (writer, reader) = tokio::io::duplex(16);
        drop(reader);
        outbox.push(|line| line.extend(b"lost")).unwrap();
        assert!(outbox.write_to(writer).await.is_err());
        assert!(outbox.push(|_| {}).is_err());
        outbox.wait_for_capacity().await;
    }
}
