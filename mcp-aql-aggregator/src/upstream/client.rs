//! The client for HTTP: requests over connections that are used again, direct or through the proxy that the
//! environment names.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, PROXY_AUTHORIZATION};
use hyper::http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tower_service::Service;
use url::Url;

use super::Failure;

/// What connects: with TLS where the URL wants it.
#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<Dial>;
#[cfg(not(feature = "tls"))]
type Connector = Dial;

type Fault = Box<dyn Error + Send + Sync>;

/// One client for one server.
#[derive(Debug, Clone)]
pub(super) struct Client {
    inner: hyper_util::client::legacy::Client<Connector, Full<Bytes>>,
    proxy: Option<Arc<Intercept>>,
}

impl Client {
    /// For this server, without asking the environment for a proxy when it is on this machine.
    ///
    /// # Errors
    /// When it needs TLS, and that, or a certificate to trust, is not there; or when the proxy is of a kind
    /// that cannot be used.
    pub(super) fn new(url: &Url, is_local: bool) -> Result<Self, Failure> {
        let uri = uri(url)?;
        let is_secure = match url.scheme() {
            "http" => false,
            "https" if cfg!(feature = "tls") => true,
            _ => return Err(Failure::FailedToStart),
        };
        let proxy = if is_local { None } else { Matcher::from_env().intercept(&uri) };
        if proxy.as_ref().is_some_and(|proxy| proxy.uri().scheme() != Some(&Scheme::HTTP)) {
            return Err(Failure::FailedToStart);
        }
        let proxy = proxy.map(Arc::new);
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let dial = Dial { tcp, proxy: proxy.clone() };
        #[cfg(feature = "tls")]
        let dial = super::tls::connector(dial, is_secure)?;
        #[cfg(not(feature = "tls"))]
        let _ = is_secure;
        let inner = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(dial);
        Ok(Self { inner, proxy })
    }

    /// Sends a request, and gives the reply once its headers are there.
    pub(super) async fn send(
        &self,
        url: &Url,
        method: Method,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Reply, Unsent> {
        let uri = uri(url).map_err(|failure| Unsent { failure, cause: "no URL".to_owned() })?;
        let is_plain = uri.scheme() == Some(&Scheme::HTTP);
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        // With TLS, the proxy is told when the tunnel is made.
        if is_plain && let Some(who) = self.proxy.as_ref().and_then(|proxy| proxy.basic_auth()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, who.clone());
        }
        match self.inner.request(request).await {
            Ok(response) => Ok(Reply(response)),
            Err(error) => {
                let cause = innermost(&error);
                #[cfg(feature = "tls")]
                if super::tls::is_of_certificate(&error) {
                    return Err(Unsent { failure: Failure::Untrusted, cause });
                }
                let failure = if error.is_connect() { Failure::Refused } else { Failure::Exited };
                Err(Unsent { failure, cause })
            }
        }
    }
}

/// Why there is no reply.
#[derive(Debug)]
pub(super) struct Unsent {
    pub(super) failure: Failure,
    /// As the system says it.
    pub(super) cause: String,
}

/// What is behind an error.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn uri(url: &Url) -> Result<Uri, Failure> {
    Uri::try_from(url.as_str()).map_err(|_| Failure::FailedToStart)
}

/// A reply, of which the body is still to be read.
#[derive(Debug)]
pub(super) struct Reply(Response<Incoming>);

impl Reply {
    pub(super) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// The next part of the body, if there is one.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            match self.0.body_mut().frame().await.transpose() {
                Ok(None) => return Ok(None),
                // Trailers are not read.
                Ok(Some(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Err(_) => return Err(Failure::Exited),
            }
        }
    }
}

/// Makes connections: to the server, or to the proxy, which makes a tunnel where TLS is to go through.
#[derive(Debug, Clone)]
pub(super) struct Dial {
    tcp: HttpConnector,
    proxy: Option<Arc<Intercept>>,
}

impl Service<Uri> for Dial {
    type Response = Line;
    type Error = Fault;
    type Future = BoxFuture<'static, Result<Line, Fault>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Some(proxy) = self.proxy.clone() else {
            let connecting = self.tcp.call(to);
            return Box::pin(async move { Ok(Line { tcp: connecting.await?, is_proxied: false }) });
        };
        if to.scheme() == Some(&Scheme::HTTPS) {
            let mut tunnel = Tunnel::new(proxy.uri().clone(), self.tcp.clone());
            if let Some(who) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(who.clone());
            }
            let connecting = tunnel.call(to);
            return Box::pin(async move { Ok(Line { tcp: connecting.await?, is_proxied: false }) });
        }
        let connecting = self.tcp.call(proxy.uri().clone());
        Box::pin(async move { Ok(Line { tcp: connecting.await?, is_proxied: true }) })
    }
}

/// A connection.
pub(super) struct Line {
    tcp: TokioIo<TcpStream>,
    /// Whether it is the proxy that reads the requests, and has to be told of which server they are.
    is_proxied: bool,
}

impl fmt::Debug for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Line").finish_non_exhaustive()
    }
}

impl Connection for Line {
    fn connected(&self) -> Connected {
        self.tcp.connected().proxy(self.is_proxied)
    }
}

impl Read for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(context, buffer)
    }
}

impl Write for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}
