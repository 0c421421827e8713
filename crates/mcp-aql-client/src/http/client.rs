//! The HTTP client: requests over pooled connections, direct or through a proxy.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, PROXY_AUTHORIZATION};
use hyper::http::uri::Scheme;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use url::{Origin, Url};

use super::address::is_local;
use super::connect::ProxyConnector;
use super::error::{ClientError, HttpError, HttpErrorKind};
use super::tls;

/// Time after which an unused connection is closed. It is shorter than the limits of common servers
/// (30 s of `mcp_aql`, 60 s and more of others): if the server closes a connection just as a
/// request is sent on it, the request gets no reply.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// An HTTP client for one server. It is cheap to clone and does not follow redirects.
///
/// You can only send requests to the server passed to [`new`](Self::new), so credentials never
/// reach another one. The proxy named in the environment is used except for servers on this
/// machine. For `https://`, the client trusts the certificates of the system, or those in the PEM
/// file named by `SSL_CERT_FILE`. It does not install a process-wide cryptography provider.
#[derive(Debug, Clone)]
pub struct Client {
    inner: hyper_util::client::legacy::Client<tls::Connector, Full<Bytes>>,
    proxy: Option<Arc<Intercept>>,
    /// The only server to send requests to. The certificates and the proxy were chosen for it.
    server: Origin,
}

impl Client {
    /// Creates a client for the server of this URL. Credentials in the URL are not sent; take them
    /// out with [`authorization`](super::authorization) and send them as a header.
    ///
    /// # Errors
    ///
    /// Returns [`ClientError`] if the URL, the proxy or the certificates of this machine cannot be
    /// used.
    pub fn new(url: &Url) -> Result<Self, ClientError> {
        match url.scheme() {
            "http" => {}
            "https" if cfg!(feature = "tls") => {}
            "https" => return Err(ClientError::NoTls),
            _ => return Err(ClientError::NotHttp),
        }
        let uri = uri(url).map_err(ClientError::Uri)?;
        let proxy = if is_local(url) { None } else { Matcher::from_env().intercept(&uri) };
        if proxy.as_ref().is_some_and(|proxy| proxy.uri().scheme() != Some(&Scheme::HTTP)) {
            return Err(ClientError::Proxy);
        }
        let proxy = proxy.map(Arc::new);
        let connector = ProxyConnector::new(proxy.clone());
        let connector = tls::connector(connector, uri.scheme() == Some(&Scheme::HTTPS))?;
        let inner = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(connector);
        Ok(Self { inner, proxy, server: url.origin() })
    }

    /// Sends a request to a URL of the client's server. Returns the reply as soon as its headers
    /// have arrived; read the body with [`Reply::chunk`].
    ///
    /// # Errors
    ///
    /// Returns [`HttpError`] if no reply arrives. A request to a different server is not sent.
    pub async fn send(
        &self,
        url: &Url,
        method: Method,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Reply, HttpError> {
        let unsent = |why| HttpError::with_message(HttpErrorKind::Connect, why);
        if url.origin() != self.server {
            return Err(unsent("the URL belongs to another server than the client".to_owned()));
        }
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri(url).map_err(unsent)?;
        *request.headers_mut() = headers;
        // With TLS, the proxy receives the credentials when the tunnel is opened.
        if url.scheme() == "http"
            && let Some(who) = self.proxy.as_ref().and_then(|proxy| proxy.basic_auth())
        {
            request.headers_mut().insert(PROXY_AUTHORIZATION, who.clone());
        }
        match self.inner.request(request).await {
            Ok(response) => Ok(Reply(response)),
            Err(error) if error.is_connect() => Err(tls::handshake_error(&error)
                .unwrap_or_else(|| HttpError::new(HttpErrorKind::Connect, &error))),
            Err(error) => Err(HttpError::new(HttpErrorKind::Broken, &error)),
        }
    }
}

/// Converts a URL to hyper's type, or returns the reason why it is invalid.
fn uri(url: &Url) -> Result<Uri, String> {
    Uri::try_from(url.as_str()).map_err(|error| error.to_string())
}

/// A reply whose body has not been read yet. Dropping it before the end of the body closes the
/// connection.
pub struct Reply(Response<Incoming>);

/// Omits the headers. They may contain secrets such as the session id.
impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reply").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Reply {
    /// Returns the status code.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// Returns the headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// Returns the content type in lower case and without parameters, for example
    /// `text/event-stream`. Empty if the header is missing.
    #[must_use]
    pub fn content_type(&self) -> String {
        let kind = self.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default();
        kind.trim().to_ascii_lowercase()
    }

    /// Returns the next part of the body, or `None` at its end. Stop calling it to limit the size
    /// of a body.
    ///
    /// # Errors
    ///
    /// Returns [`HttpError`] if the body is incomplete.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            match self.0.body_mut().frame().await.transpose() {
                Ok(None) => return Ok(None),
                // Trailers are ignored.
                Ok(Some(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Err(error) => return Err(HttpError::new(HttpErrorKind::Broken, &error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;

    /// Returns the URL of a server that sends `answer` on each connection and closes it.
    fn server(answer: &'static str) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        // The thread ends with the process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    head.extend(byte);
                }
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        Url::parse(&url).unwrap()
    }

    async fn get(url: &Url) -> Result<Reply, HttpError> {
        let client = Client::new(url).unwrap();
        client.send(url, Method::GET, HeaderMap::new(), Vec::new()).await
    }

    #[tokio::test]
    async fn replies_come_in_parts() {
        let url = server(
            "HTTP/1.1 202 Accepted\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\
             Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nx: y\r\n\r\n",
        );
        let mut reply = get(&url).await.unwrap();
        assert_eq!((reply.status().as_u16(), &*reply.content_type()), (202, "text/event-stream"));
        let mut body = Vec::new();
        while let Some(part) = reply.chunk().await.unwrap() {
            body.extend_from_slice(&part);
        }
        assert_eq!(body, b"abc");
    }

    #[tokio::test]
    async fn broken_connections_differ_from_failed_ones() {
        let mut cut =
            get(&server("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")).await.unwrap();
        assert_eq!(cut.content_type(), "");
        assert_eq!(cut.chunk().await.unwrap().unwrap(), "abc");
        assert_eq!(cut.chunk().await.unwrap_err().kind(), HttpErrorKind::Broken);
        let error = get(&server("SSH-2.0-nothing\r\n")).await.unwrap_err();
        assert_eq!((error.kind(), error.is_connect()), (HttpErrorKind::Broken, false));
        // The listener is closed, so the connection is refused.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        drop(listener);
        let error = get(&url).await.unwrap_err();
        assert_eq!((error.kind(), error.is_connect()), (HttpErrorKind::Connect, true));
        assert!(error.to_string().contains("refused"), "{error}");
    }

    #[tokio::test]
    async fn nothing_is_sent_to_another_server() {
        let (url, other) = (server("HTTP/1.1 200 OK\r\n\r\n"), server("HTTP/1.1 200 OK\r\n\r\n"));
        let client = Client::new(&url).unwrap();
        let https = url.as_str().replace("http:", "https:");
        for url in [other.as_str(), &https, "data:x", "ftp://localhost/"] {
            let url = Url::parse(url).unwrap();
            let error = client.send(&url, Method::GET, HeaderMap::new(), Vec::new()).await;
            let error = error.unwrap_err();
            assert_eq!(error.kind(), HttpErrorKind::Connect, "{url}");
            assert!(error.to_string().contains("another server"), "{error}");
        }
        // Any path of the client's own server is allowed.
        let url = url.join("/elsewhere").unwrap();
        let reply = client.send(&url, Method::GET, HeaderMap::new(), Vec::new()).await.unwrap();
        assert_eq!(format!("{reply:?}"), "Reply { status: 200, .. }");
    }

    #[test]
    fn only_http_urls_are_accepted() {
        for url in ["http://a{b}/mcp".to_owned(), format!("http://a/{}", "b".repeat(70_000))] {
            let Ok(url) = Url::parse(&url) else { continue };
            assert!(matches!(Client::new(&url), Err(ClientError::Uri(_))), "{url}");
        }
        for url in ["ftp://example.com/", "data:x", "unix:/run/x"] {
            let url = Url::parse(url).unwrap();
            assert_eq!(Client::new(&url).unwrap_err(), ClientError::NotHttp, "{url}");
        }
        let secure = Client::new(&Url::parse("https://localhost/").unwrap());
        #[cfg(not(feature = "tls"))]
        assert_eq!(secure.unwrap_err(), ClientError::NoTls);
        #[cfg(feature = "tls")]
        assert!(matches!(secure, Ok(_) | Err(ClientError::NoCertificates(_))));
    }
}
