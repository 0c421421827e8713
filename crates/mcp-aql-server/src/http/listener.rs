//! Accepts and serves connections of the HTTP server, with limits and timeouts.
//!
//! `axum::serve` is not used: it limits neither the number of connections nor the time to send a request's headers, and
//! it waits forever for a client that does not read.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use super::connections::{BusyGuard, ConnectionSlot, Connections, ReplyBody, max_connections};

/// How long a stopping server waits for connections to close.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(5);

/// Pause before the next attempt if no file descriptor is left for a connection.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum number of connections taken from the queue of a listener when it closes. This is the usual length of such a
/// queue on Linux.
const MAX_QUEUED: usize = 4_096;

/// Size at which hyper stops enlarging the read buffer of a connection, in bytes. The buffer and the headers of a
/// request can be up to twice as large. The buffers are not part of the byte budget of the bodies, and hyper's default
/// is six times as large.
const MAX_BUFFER_BYTES: usize = 64 << 10;

/// Serves connections until `stop` is canceled. Then waits until they are closed, at most for the grace period.
pub async fn serve(
    listener: TcpListener,
    router: axum::Router,
    bounds: (usize, Duration),
    stop: CancellationToken,
) {
    serve_until(listener, router, bounds, stop.clone(), stop).await;
}

/// Accepts connections until `refuse` is canceled, and serves them until `stop` is canceled. Then waits until they are
/// closed, at most for the grace period.
///
/// At most `max` connections are open. A further connection closes the longest idle one. If none is
/// idle, the new client waits for at most `client_timeout`.
pub(super) async fn serve_until(
    listener: TcpListener,
    router: axum::Router,
    (max, client_timeout): (usize, Duration),
    refuse: CancellationToken,
    stop: CancellationToken,
) {
    let max = max_connections(max);
    let open = Arc::new(Connections::default());
    let mut connections = JoinSet::new();
    let serving = |(stream, client): (TcpStream, SocketAddr)| {
        // Otherwise each reply on a reused connection waits 40 ms for an acknowledgment (Nagle's algorithm).
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let slot = Arc::new(open.open());
        let stream = TimeoutStream::new(stream, client_timeout, Arc::clone(&slot));
        let router = (router.clone(), Some(ConnectInfo(client)));
        connection(stream, router, client_timeout, slot, stop.clone())
    };
    let mut listening = Some(listener);
    let mut queued = Vec::new().into_iter();
    loop {
        let accepted = match &listening {
            Some(listener) => tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = refuse.cancelled() => {
                    queued = listening.take().map(close).unwrap_or_default().into_iter();
                    continue;
                }
                accepted = accept(listener, &open) => accepted,
            },
            None => match queued.next() {
                Some(accepted) => accepted,
                None => break,
            },
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            made = tokio::time::timeout(client_timeout, open.make_capacity(max)) => match made {
                Ok(()) => drop(connections.spawn(serving(accepted))),
                Err(_) => tracing::warn!(max, "closed a new connection: no open connection is idle"),
            },
        }
        while connections.try_join_next().is_some() {}
    }
    stop.cancelled().await;
    let closed = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(SHUTDOWN_GRACE_PERIOD, closed).await.is_err() {
        tracing::warn!("dropped connections that did not close in time");
    }
}

/// Closes a listener and returns the connections in its queue.
///
/// Closing would reset these connections, although their clients may already have sent requests. tokio has not reported
/// them yet, because it learns of new connections later than the system.
fn close(listener: TcpListener) -> Vec<(TcpStream, SocketAddr)> {
    // The listener is in non-blocking mode, so accepting ends with `WouldBlock`.
    let listener = listener.into_std();
    let accepted = listener.iter().flat_map(|listener| {
        std::iter::from_fn(|| match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            // The client of a single connection may have disconnected.
            accepted => Some(accepted.ok()),
        })
    });
    let streams = accepted.take(MAX_QUEUED).flatten().filter_map(|(stream, client)| {
        stream.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(stream).ok()?, client))
    });
    streams.collect()
}

/// Accepts the next connection. Retries after errors, because the cause may be temporary: closing an idle connection
/// frees a file descriptor, for example.
async fn accept(listener: &TcpListener, open: &Connections) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
                // The client has already disconnected.
                if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
                    continue;
                }
                tracing::error!(%error, "a connection cannot be accepted");
                open.close_idle();
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
    }
}

async fn connection<S>(
    stream: TimeoutStream<S>,
    (router, client): (axum::Router, Option<ConnectInfo<SocketAddr>>),
    client_timeout: Duration,
    slot: Arc<ConnectionSlot>,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(client_timeout)
        .max_buf_size(MAX_BUFFER_BYTES);
    let router = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(|mut request: hyper::Request<Incoming>| {
        let busy = slot.busy();
        if let Some(client) = client {
            request.extensions_mut().insert(client);
        }
        let reply = router.call(request);
        async { reply.await.map(|reply| reply.map(|body| Body::new(ReplyBody::new(body, busy)))) }
    });
    let serving = http.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(serving);
    let served = tokio::select! {
        biased;
        served = serving.as_mut() => served,
        () = slot.must_close() => {
            if slot.is_idle() {
                return;
            }
            // A request arrived at the same moment. Close the connection after its reply.
            serving.as_mut().graceful_shutdown();
            serving.await
        }
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// A stream whose writes fail after a timeout without progress.
struct TimeoutStream<S> {
    stream: S,
    client_timeout: Duration,
    /// The deadline. Created by the first blocked write.
    limit: Option<Pin<Box<Sleep>>>,
    slot: Arc<ConnectionSlot>,
    /// Set while a write is blocked.
    waiting: Option<BusyGuard>,
}

impl<S: AsyncWrite + Unpin> TimeoutStream<S> {
    fn new(stream: S, client_timeout: Duration, slot: Arc<ConnectionSlot>) -> Self {
        Self { stream, client_timeout, limit: None, slot, waiting: None }
    }

    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let written = write(Pin::new(&mut self.stream), context);
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let client_timeout = self.client_timeout;
        let limit = self.limit.get_or_insert_with(|| Box::pin(tokio::time::sleep(client_timeout)));
        if self.waiting.is_none() {
            self.waiting = Some(self.slot.busy());
            limit.as_mut().reset(Instant::now() + client_timeout);
        }
        match limit.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
    use tokio::task::JoinHandle;

    use super::*;

    /// This timeout is measured on the paused clock.
    const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
    const BODY_BYTES: usize = 10_000;
    /// Capacity of the stream between server and client, in bytes.
    const BUFFER_BYTES: usize = 1_000;

    /// Sends a request with an answer longer than the stream's buffer. Returns the client's end of the stream and the
    /// task of the connection.
    async fn request() -> (DuplexStream, JoinHandle<()>) {
        let router = axum::Router::new().route("/", get(|| async { "x".repeat(BODY_BYTES) }));
        let (mut client, server) = tokio::io::duplex(BUFFER_BYTES);
        let slot = Arc::new(Arc::new(Connections::default()).open());
        let stream = TimeoutStream::new(server, CLIENT_TIMEOUT, Arc::clone(&slot));
        let stop = CancellationToken::new();
        let serving = tokio::spawn(connection(stream, (router, None), CLIENT_TIMEOUT, slot, stop));
        let head = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        client.write_all(head).await.unwrap();
        (client, serving)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_given_up() {
        // REQ-SES-02
        let (mut client, serving) = request().await;
        let begun = Instant::now();
        serving.await.unwrap();
        assert!(begun.elapsed() >= CLIENT_TIMEOUT);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer.len(), BUFFER_BYTES, "the rest of the answer was given up");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_gets_the_whole_answer() {
        let (mut client, serving) = request().await;
        let (mut answer, mut piece) = (Vec::new(), [0_u8; BUFFER_BYTES / 2]);
        loop {
            tokio::time::sleep(CLIENT_TIMEOUT - Duration::from_secs(1)).await;
            match client.read(&mut piece).await.unwrap() {
                0 => break,
                length => answer.extend_from_slice(&piece[..length]),
            }
        }
        assert!(answer.len() > BODY_BYTES, "{}", answer.len());
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn connections_that_wait_for_room_when_the_listener_closes_are_served() {
        // REQ-SES-02
        let finish = CancellationToken::new();
        let (ended, (entered, mut begun)) = (finish.clone(), tokio::sync::mpsc::channel(2));
        let slow = get(|| async move {
            entered.send(()).await.unwrap();
            ended.cancelled().await;
        });
        let router = axum::Router::new().route("/slow", slow).route("/", get(|| async {}));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let send = async |path: &str| {
            let mut client = TcpStream::connect(address).await.unwrap();
            let head =
                format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            client.write_all(head.as_bytes()).await.unwrap();
            client
        };
        let (refuse, stop) = (CancellationToken::new(), CancellationToken::new());
        let bounds = (2, CLIENT_TIMEOUT);
        let serving = serve_until(listener, router, bounds, refuse.clone(), stop.clone());
        let serving = tokio::spawn(serving);
        let mut clients = vec![send("/slow").await, send("/slow").await];
        for _ in 0..2 {
            begun.recv().await.unwrap();
        }
        // The server accepts the first of these and waits for capacity. The second one stays in the listener's queue.
        for _ in 0..2 {
            clients.push(send("/").await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        refuse.cancel();
        tokio::time::sleep(Duration::from_millis(20)).await;
        finish.cancel();
        for mut client in clients {
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:?}");
        }
        TcpStream::connect(address).await.unwrap_err();
        stop.cancel();
        serving.await.unwrap();
    }
}
