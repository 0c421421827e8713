//! Connections to the HTTP server, and what becomes of clients that do not go on with theirs.
//!
//! axum's own loop has no limit on the time for a request's headers, and waits for ever for a client
//! that does not read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

/// How long connections may take to close when the server shuts down.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// Serves connections until `stop`, and then until they are closed or took too long.
pub(crate) async fn serve(
    mut listener: TcpListener,
    router: axum::Router,
    patience: Duration,
    stop: CancellationToken,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // Goes on after an error: what connections lack, such as file descriptors, comes back.
            (stream, _) = Listener::accept(&mut listener) => {
                // Without this each reply on a kept-alive connection waits 40 ms for an acknowledgement.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY could not be set");
                }
                let stream = Patient::new(stream, patience);
                connections.spawn(connection(stream, router.clone(), patience, stop.clone()));
            }
            Some(_) = connections.join_next() => {}
            () = stop.cancelled() => break,
        }
    }
    drop(listener);
    let closed = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(SHUTDOWN, closed).await.is_err() {
        tracing::warn!("connections that would not close were dropped");
    }
}

async fn connection<S>(
    stream: Patient<S>,
    router: axum::Router,
    patience: Duration,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(patience);
    let serving = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(serving);
    let served = tokio::select! {
        served = serving.as_mut() => served,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// A stream that fails when nothing could be written to it for so long.
struct Patient<S> {
    stream: S,
    patience: Duration,
    /// Made by the first write that has to wait.
    limit: Option<Pin<Box<Sleep>>>,
    waiting: bool,
}

impl<S: AsyncWrite + Unpin> Patient<S> {
    fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, limit: None, waiting: false }
    }

    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), context);
        if written.is_ready() {
            self.waiting = false;
            return written;
        }
        let patience = self.patience;
        let limit = self.limit.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if !std::mem::replace(&mut self.waiting, true) {
            limit.as_mut().reset(Instant::now() + patience);
        }
        match limit.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.bounded(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.bounded(context, |stream, context| stream.poll_write_vectored(context, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.bounded(context, |stream, context| stream.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.bounded(context, |stream, context| stream.poll_shutdown(context))
    }
}
