use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::body::Guard;
use super::connection::Connection;
use super::pipe::longest_message;
use super::server::{Server, Shared};
use crate::adapter::{Adapter, erased};
use crate::main_error::{Error, Result};
use crate::operation::BoxFuture;
use crate::stop::told_to_stop;

/// Where the adapter sits on its server.
const PATH: &str = "/mcp";
/// How long connections may take to close when the server shuts down.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// How an adapter is served over HTTP.
///
/// By default it answers requests to this machine only: the `Host` header, and `Origin` where a
/// browser sends one, must name the loopback interface. Both checks stay on whatever is added.
///
/// ```
/// use mcp_aql::HttpOptions;
///
/// let options = HttpOptions::new()
///     .allow_remote(true)
///     .allow_host("tasks.example.org")
///     .allow_origin("https://app.example.org");
/// ```
#[derive(Debug, Clone)]
pub struct HttpOptions {
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    remote: bool,
    sessions: bool,
    session_timeout: Duration,
    shutdown: CancellationToken,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpOptions {
    /// Loopback only, with sessions.
    pub fn new() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            remote: false,
            sessions: true,
            session_timeout: Duration::from_secs(30 * 60),
            shutdown: CancellationToken::new(),
        }
    }

    /// Accepts this `Host` besides loopback: `tasks.example.org`, or with a port
    /// `tasks.example.org:8443`.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into());
        self
    }

    /// Accepts pages of this origin besides loopback: `https://app.example.org`, and for any port
    /// `https://app.example.org:*`.
    ///
    /// A browser also wants CORS headers: add a layer for them to [`Adapter::router`].
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.allowed_origins.push(origin.into());
        self
    }

    /// Lets [`Adapter::serve_http`] listen on an address that other machines reach. The hosts by
    /// which they call it have to be allowed too.
    #[must_use]
    pub fn allow_remote(mut self, on: bool) -> Self {
        self.remote = on;
        self
    }

    /// Keeps a session for each client of MCP versions before 2026-07-28. Default: on. Later
    /// versions have none over HTTP, whatever this says.
    #[must_use]
    pub fn sessions(mut self, on: bool) -> Self {
        self.sessions = on;
        self
    }

    /// Ends a session that was not used for so long. Default: 30 minutes.
    #[must_use]
    pub fn session_timeout(mut self, after: Duration) -> Self {
        self.session_timeout = after;
        self
    }

    /// Whether the options let the adapter listen there.
    pub(crate) fn check(&self, address: IpAddr) -> Result {
        if address.is_loopback() || (self.remote && !self.allowed_hosts.is_empty()) {
            return Ok(());
        }
        let missing = if self.remote {
            "name the hosts by which it is called (`allow_host`, `--allow-host`)"
        } else {
            "allow that (`allow_remote`, `--allow-remote`) and name the hosts by which it is called \
             (`allow_host`, `--allow-host`)"
        };
        Err(Error::Usage(format!("{address} can be reached from other machines: {missing}")))
    }

    fn config(&self, adapter: &Adapter) -> StreamableHttpServerConfig {
        let hosts = ["localhost", "127.0.0.1", "::1"].into_iter().map(str::to_owned);
        let origins = ["localhost", "127.0.0.1", "[::1]"].into_iter().flat_map(|host| {
            ["http", "https"].into_iter().map(move |scheme| format!("{scheme}://{host}:*"))
        });
        StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts.chain(self.allowed_hosts.iter().cloned()))
            .with_allowed_origins(origins.chain(self.allowed_origins.iter().cloned()))
            .enforce_origin_validation()
            .with_legacy_session_mode(self.sessions)
            .with_max_request_body_bytes(longest_message(adapter.limits().max_request_size))
            .with_cancellation_token(self.shutdown.clone())
    }
}

impl Adapter {
    /// The adapter at `/mcp` of an axum router, to be merged into a server of your own.
    ///
    /// Bodies that are too long, or no text, are answered with the protocol's error where they are
    /// calls with an id; otherwise with 413, or 400 and JSON-RPC's error. No more of a long body is
    /// kept than [`Limits::max_request_size`](crate::Limits) could allow.
    pub fn router(&self, options: &HttpOptions) -> axum::Router {
        let shared = Shared::new(self);
        let longest = longest_message(self.limits().max_request_size);
        let unbound = Server::new(Arc::clone(&shared), Arc::new(Connection::http()));
        let guard = Guard::new(unbound, longest);
        let factory = move || {
            let connection = Arc::new(Connection::http());
            Ok(Server::new(Arc::clone(&shared), connection))
        };
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(options.session_timeout);
        let service = StreamableHttpService::new(factory, sessions.into(), options.config(self));
        axum::Router::new()
            .nest_service(PATH, service)
            .layer(axum::middleware::from_fn_with_state(guard, Guard::pass))
    }

    /// Serves MCP clients over streamable HTTP at `/mcp`, until the process is told to stop
    /// (Ctrl-C, or SIGTERM).
    ///
    /// # Errors
    /// [`Error::Usage`] when others could reach the address and `options` does not allow that;
    /// [`Error::Io`] when it cannot be listened on.
    pub fn serve_http(
        &self,
        address: SocketAddr,
        options: HttpOptions,
    ) -> impl Future<Output = Result> + Send + '_ {
        erased(async move {
            options.check(address.ip())?;
            let listener = TcpListener::bind(address).await?;
            self.listen(listener, options, Box::pin(told_to_stop())).await
        })
    }

    /// As [`serve_http`](Self::serve_http), on a listener of your own and until `stop` is done.
    ///
    /// # Errors
    /// As [`serve_http`](Self::serve_http).
    pub fn serve_listener<S>(
        &self,
        listener: TcpListener,
        options: HttpOptions,
        stop: S,
    ) -> impl Future<Output = Result> + Send + use<'_, S>
    where
        S: Future<Output = ()> + Send + 'static,
    {
        self.listen(listener, options, Box::pin(stop))
    }

    fn listen(
        &self,
        listener: TcpListener,
        options: HttpOptions,
        stop: BoxFuture<'static, ()>,
    ) -> BoxFuture<'_, Result> {
        erased(self.listen_until(listener, options, stop))
    }

    async fn listen_until(
        &self,
        listener: TcpListener,
        mut options: HttpOptions,
        stop: BoxFuture<'static, ()>,
    ) -> Result {
        let address = listener.local_addr()?;
        options.check(address.ip())?;
        // A server's end is its own, even if its options are those of another one.
        options.shutdown = CancellationToken::new();
        let shutdown = options.shutdown.clone();
        let router = self.router(&options);
        tracing::info!(url = %format_args!("http://{address}{PATH}"), "listening");
        // Without this each reply on a kept-alive connection waits 40 ms for an acknowledgement.
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY could not be set");
            }
        });
        let stopping = shutdown.clone();
        let server = axum::serve(listener, router).with_graceful_shutdown(async move {
            stop.await;
            // Ends the sessions and their streams, which would keep their connections open.
            stopping.cancel();
        });
        tokio::select! {
            served = async { server.await } => served.map_err(Error::from),
            () = async { shutdown.cancelled().await; tokio::time::sleep(SHUTDOWN).await } => {
                tracing::warn!("connections that would not close were dropped");
                Ok(())
            }
        }
    }
}
