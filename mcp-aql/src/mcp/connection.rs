use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

use crate::operation::Session;

/// One client's connection and the session that belongs to it (REQ-SES-01, REQ-SES-02).
#[derive(Debug)]
pub(super) struct Connection {
    session: OnceLock<Session>,
    /// Whether requests that arrive here share a connection.
    lasting: AtomicBool,
}

impl Connection {
    /// A connection of its own, such as standard input and output.
    pub(super) fn lasting() -> Self {
        Self { session: OnceLock::new(), lasting: AtomicBool::new(true) }
    }

    /// A handler that HTTP made. It belongs to one connection once a client was initialized through
    /// it; without that, it was made for one request and is gone after it. What the client writes
    /// into its headers has no say in it (REQ-SES-05).
    #[cfg(feature = "http")]
    pub(super) fn http() -> Self {
        Self { session: OnceLock::new(), lasting: AtomicBool::new(false) }
    }

    /// A client was initialized here.
    pub(super) fn initialized(&self) {
        self.lasting.store(true, Ordering::Release);
    }

    /// The connection's session, opened by whoever asks first: the newest MCP has no initialize.
    pub(super) fn session(&self) -> Option<Session> {
        if !self.lasting.load(Ordering::Acquire) {
            return None;
        }
        Some(self.session.get_or_init(Session::new).clone())
    }

    /// The connection is gone.
    pub(super) fn end(&self) {
        if let Some(session) = self.session.get() {
            session.end();
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end();
    }
}

/// A reader that tells when there is nothing more to read. rmcp tells it only after it has waited
/// for the calls that still run.
pub(super) struct Watched<R> {
    reader: R,
    ended: CancellationToken,
}

impl<R> Watched<R> {
    pub(super) fn new(reader: R, ended: CancellationToken) -> Self {
        Self { reader, ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let (before, room) = (buffer.filled().len(), buffer.remaining());
        let outcome = Pin::new(&mut self.reader).poll_read(context, buffer);
        match &outcome {
            Poll::Ready(Ok(())) if room > 0 && buffer.filled().len() == before => {
                self.ended.cancel();
            }
            Poll::Ready(Err(_)) => self.ended.cancel(),
            Poll::Ready(Ok(())) | Poll::Pending => {}
        }
        outcome
    }
}
