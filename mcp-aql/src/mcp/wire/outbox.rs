//! What goes out: lines from many calls, written together.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

use crate::sync::lock;

/// While more than this waits to be written, nothing more is read: a client that does not read gets
/// no further calls answered, and the answers do not pile up.
const FULL: usize = 1 << 20;
/// A buffer that grew beyond this is not kept.
const KEPT: usize = 256 << 10;

/// The lines that wait to be written. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outbox(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<Waiting>,
    /// There is something to write, or nothing more will come.
    filled: Notify,
    /// The waiting lines have been taken.
    emptied: Notify,
    /// Calls that will still answer.
    running: AtomicUsize,
    /// None will.
    idle: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: Vec<u8>,
    /// Nothing more is taken: the connection is gone or will be.
    closed: bool,
}

/// Counts a call as running until it is dropped.
#[derive(Debug)]
pub(crate) struct Running(Arc<Inner>);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

impl Outbox {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        lock(&self.0.waiting)
    }

    /// A call begins, whose answer will come.
    pub(crate) fn expect_one(&self) -> Running {
        self.0.running.fetch_add(1, Ordering::AcqRel);
        Running(Arc::clone(&self.0))
    }

    /// Calls that will still answer.
    pub(crate) fn running(&self) -> usize {
        self.0.running.load(Ordering::Acquire)
    }

    /// Waits until no call runs any more.
    pub(crate) async fn idle(&self) {
        loop {
            let idle = self.0.idle.notified();
            if self.running() == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Adds a line, which `write` writes without its end.
    pub(crate) fn push(&self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.push_last(None, write)
    }

    /// Adds the answer of a call, which is over with it: whoever writes need not wait for it any more.
    pub(crate) fn push_last(
        &self,
        call: Option<Running>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let first = {
            let mut waiting = self.waiting();
            if waiting.closed {
                return Err(io::ErrorKind::NotConnected.into());
            }
            let first = waiting.lines.is_empty();
            write(&mut waiting.lines);
            waiting.lines.push(b'\n');
            first
        };
        drop(call);
        if first {
            self.0.filled.notify_one();
        }
        Ok(())
    }

    /// Waits until there is room for the answers to further calls.
    pub(crate) async fn room(&self) {
        loop {
            let emptied = self.0.emptied.notified();
            {
                let waiting = self.waiting();
                if waiting.lines.len() < FULL || waiting.closed {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Takes no further lines; what waits is still written.
    pub(crate) fn close(&self) {
        self.waiting().closed = true;
        self.0.filled.notify_one();
        self.0.emptied.notify_waiters();
    }

    /// Writes what is pushed, until the outbox is closed and empty or nobody reads any more.
    pub(crate) async fn write_to<W: AsyncWrite + Unpin>(&self, mut writer: W) -> io::Result<()> {
        let mut lines = Vec::new();
        loop {
            self.0.filled.notified().await;
            if self.running() > 0 {
                // Other answers may be as good as ready: they go out in the same write.
                tokio::task::yield_now().await;
            }
            let closed = {
                let mut waiting = self.waiting();
                std::mem::swap(&mut lines, &mut waiting.lines);
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
            lines.clear();
            lines.shrink_to(KEPT);
            if closed {
                return writer.shutdown().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use tokio::io::AsyncReadExt as _;

    /// Counts how often it is written to.
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
            outbox.push(|line| line.extend(std::iter::repeat_n(b'x', FULL))).unwrap();
            tokio::task::yield_now().await;
        }
        let waits = outbox.clone();
        let mut waits = tokio::spawn(async move { waits.room().await });
        let soon = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(soon, &mut waits).await.is_err(), "there was room");
        outbox.close();
        waits.await.unwrap();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).await.unwrap();
        assert_eq!(read.len(), 2 * (FULL + 1));
        task.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_ends_it() {
        let outbox = Outbox::default();
        let (writer, reader) = tokio::io::duplex(16);
        drop(reader);
        outbox.push(|line| line.extend(b"lost")).unwrap();
        assert!(outbox.write_to(writer).await.is_err());
        assert!(outbox.push(|_| {}).is_err());
        outbox.room().await;
    }
}
