//! Serves tools over streamable HTTP.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::adapter_tools::AdapterTools;
use super::body::BodyGuard;
use super::body_budget::BodyBudget;
use super::connection::Connection;
use super::direct::DirectCalls;
use super::listener;
use super::server::{Server, ServerState};
use super::service::ToolService;
use super::sessions::{Sessions, made};
use crate::adapter::Adapter;
use crate::future::BoxFuture;
use crate::future::erased;
use crate::main_error::{Error, Result};
use crate::stop::told_to_stop;

/// The path of the endpoint.
pub(super) const ENDPOINT_PATH: &str = "/mcp";
/// The upper bound of every configured timeout.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Options for serving an adapter over HTTP.
///
/// By default it answers requests to this machine only: the `Host` header, and a browser's
/// `Origin`, must name the loopback interface. Additional hosts and origins do not disable these
/// checks.
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
    pub(super) session_timeout: Duration,
    pub(super) max_sessions: usize,
    client_timeout: Duration,
    max_connections: usize,
    max_inflight_bytes: usize,
    shutdown: CancellationToken,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpOptions {
    pub(crate) const DEFAULT_MAX_SESSIONS: usize = 1000;
    pub(crate) const DEFAULT_CLIENT_TIMEOUT_SECONDS: u64 = 30;
    pub(crate) const DEFAULT_MAX_CONNECTIONS: usize = 1000;
    pub(crate) const DEFAULT_MAX_INFLIGHT_MIB: usize = 64;

    /// Returns the defaults: loopback only, with sessions.
    pub fn new() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            remote: false,
            sessions: true,
            session_timeout: Duration::from_secs(30 * 60),
            max_sessions: Self::DEFAULT_MAX_SESSIONS,
            client_timeout: Duration::from_secs(Self::DEFAULT_CLIENT_TIMEOUT_SECONDS),
            max_connections: Self::DEFAULT_MAX_CONNECTIONS,
            max_inflight_bytes: Self::DEFAULT_MAX_INFLIGHT_MIB << 20,
            shutdown: CancellationToken::new(),
        }
    }

    /// Accepts this `Host` in addition to loopback: `tasks.example.org`, or with a port
    /// `tasks.example.org:8443`.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into());
        self
    }

    /// Accepts pages of this origin in addition to loopback: `https://app.example.org`, or for any
    /// port `https://app.example.org:*`.
    ///
    /// A browser also needs CORS headers: add a layer for them to [`Adapter::router`].
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.allowed_origins.push(origin.into());
        self
    }

    /// Allows [`Adapter::serve_http`] to listen on an address that other machines can reach. The
    /// host names that they use must be allowed too.
    #[must_use]
    pub fn allow_remote(mut self, on: bool) -> Self {
        self.remote = on;
        self
    }

    /// Keeps a session for each client of MCP versions before 2026-07-28. Default: on. Later
    /// versions have no sessions over HTTP, regardless of this setting.
    #[must_use]
    pub fn sessions(mut self, on: bool) -> Self {
        self.sessions = on;
        self
    }

    /// Sets the time after which an unused session ends, with a tolerance of up to one eighth.
    /// Default: 30 minutes.
    ///
    /// A call counts as use when it begins. A READ call without progress counts for as long as it
    /// runs.
    #[must_use]
    pub fn session_timeout(mut self, after: Duration) -> Self {
        self.session_timeout = after;
        self
    }

    /// Sets the maximum number of sessions. Default: 1,000. Beyond it, a new client gets HTTP's 503
    /// with `Retry-After` and JSON-RPC's error -32000. Existing sessions are not affected.
    ///
    /// Sessions of clients that disconnect without closing them count until
    /// [`session_timeout`](Self::session_timeout). A session without calls takes about 60 KiB, plus
    /// the state that your operations keep in it.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Closes the connection of a client that takes longer than this to send a request's headers or
    /// its body (408), that does not read its answer for this long, or that is idle for this long.
    /// Default: 30 seconds. The duration of operations is limited by
    /// [`time_limit`](crate::AdapterBuilder::time_limit).
    ///
    /// [`Adapter::router`] applies it to bodies only: the connections belong to the surrounding
    /// server.
    #[must_use]
    pub fn client_timeout(mut self, after: Duration) -> Self {
        self.client_timeout = after.min(MAX_TIMEOUT);
        self
    }

    /// Sets the maximum number of open connections. Default: 1,000. On Unix the limit on open files
    /// lowers it, so that at least 160 descriptors, or a quarter of them if that is more, are left
    /// for the operator console, stores and logs.
    ///
    /// A further connection closes the one that has been idle for longest. If every connection
    /// serves a request or a stream of events, the new client waits for at most
    /// [`client_timeout`](Self::client_timeout), and its connection is closed then.
    ///
    /// [`Adapter::router`] is not affected: its connections belong to the surrounding server.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Sets the maximum number of bytes of all requests that are being received. Default: 64 MiB,
    /// and never less than the maximum size of one request.
    ///
    /// At the limit, the request that has been incomplete for longest is aborted with HTTP's 503,
    /// `Retry-After` and JSON-RPC's error -32000. If all other requests are complete, the new one
    /// is rejected in the same way.
    #[must_use]
    pub fn max_inflight_bytes(mut self, bytes: usize) -> Self {
        self.max_inflight_bytes = bytes;
        self
    }

    /// Checks whether the options allow a server to listen on this address.
    ///
    /// # Errors
    /// [`Error::Usage`] if other machines could reach the address and the options do not allow
    /// that.
    pub fn check(&self, address: IpAddr) -> Result {
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

    /// The accepted hosts: loopback, and those [allowed](Self::allow_host).
    pub fn hosts(&self) -> Vec<String> {
        let hosts = ["localhost", "127.0.0.1", "::1"].into_iter().map(str::to_owned);
        hosts.chain(self.allowed_hosts.iter().cloned()).collect()
    }

    /// The accepted origins: loopback, and those [allowed](Self::allow_origin).
    pub fn origins(&self) -> Vec<String> {
        let origins = ["localhost", "127.0.0.1", "[::1]"].into_iter().flat_map(|host| {
            ["http", "https"].into_iter().map(move |scheme| format!("{scheme}://{host}:*"))
        });
        origins.chain(self.allowed_origins.iter().cloned()).collect()
    }

    /// Serves a router other than an adapter's until `stop` completes, with the same connection
    /// handling: only loopback unless these options allow more,
    /// [`client_timeout`](Self::client_timeout) for slow clients, and limits on
    /// [connections](Self::max_connections) and [bytes](Self::max_inflight_bytes).
    ///
    /// The router itself must check the contents of requests, including [hosts](Self::hosts) and
    /// [origins](Self::origins).
    ///
    /// # Errors
    /// [`Error::Usage`] if other machines could reach the address and the options do not allow
    /// that.
    pub async fn serve_router<S>(
        self,
        listener: TcpListener,
        router: axum::Router,
        stop: S,
    ) -> Result
    where
        S: Future<Output = ()> + Send + 'static,
    {
        let address = listener.local_addr()?;
        self.check(address.ip())?;
        let ended = CancellationToken::new();
        let _end = ended.clone().drop_guard();
        let bounds = (self.client_timeout, BodyBudget::new(self.max_inflight_bytes, 0));
        let router =
            router.layer(axum::middleware::from_fn_with_state(bounds, super::body::within_bounds));
        tracing::info!(url = %format_args!("http://{address}"), "listening");
        let stopping = ended.clone();
        let stopped = async {
            stop.await;
            stopping.cancel();
        };
        let bounds = (self.max_connections, self.client_timeout);
        tokio::join!(listener::serve(listener, router, bounds, ended), stopped);
        Ok(())
    }

    fn config(&self, service: &dyn ToolService) -> StreamableHttpServerConfig {
        StreamableHttpServerConfig::default()
            .with_allowed_hosts(self.hosts())
            .with_allowed_origins(self.origins())
            .enforce_origin_validation()
            .with_legacy_session_mode(self.sessions)
            .with_json_response(!service.reports_progress())
            .with_max_request_body_bytes(service.max_message_bytes())
            .with_cancellation_token(self.shutdown.clone())
    }
}

impl Adapter {
    /// Returns the adapter as an axum router with the path `/mcp`, to be merged into your own
    /// server.
    ///
    /// Bodies that are too long, or that are not text, are answered with the protocol's error if
    /// they are calls with an id, and otherwise with 413, or 400 and JSON-RPC's error. At most the
    /// size that [`Limits::max_request_size`](crate::Limits) allows is kept of a long body.
    ///
    /// When your server stops, call [`end_executions`](Self::end_executions).
    pub fn router(&self, options: &HttpOptions) -> axum::Router {
        router(AdapterTools::new(self), options, Arc::new(Sessions::new(options)))
    }

    /// Serves MCP clients over streamable HTTP at `/mcp` until the process receives a signal
    /// (Ctrl-C, or SIGTERM). Then all sessions end: executions that these clients began, and all
    /// others without a session, are cancelled, confirmation tokens are revoked and agents are
    /// stopped. All of this is in the store and in the audit log when the future completes. The
    /// wait is bounded; see [`end_executions`](Self::end_executions).
    ///
    /// # Errors
    /// [`Error::Usage`] if other machines could reach the address and `options` does not allow
    /// that; [`Error::Io`] if binding the address fails.
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

    /// Serves like [`serve_http`](Self::serve_http), on a given listener and until `stop`
    /// completes.
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
        options: HttpOptions,
        stop: BoxFuture<'static, ()>,
    ) -> Result {
        options.check(listener.local_addr()?.ip())?;
        #[cfg(feature = "console")]
        let _console = self.start_console().await?;
        #[cfg(feature = "safety")]
        self.warn_of_channels();
        serve(AdapterTools::new(self), listener, options, stop).await
    }
}

/// Serves tools over streamable HTTP at `/mcp` until `stop` completes.
///
/// # Errors
/// [`Error::Usage`] if other machines could reach the address and `options` does not allow that.
pub fn serve_tools_listener<S>(
    service: Arc<dyn ToolService>,
    listener: TcpListener,
    options: HttpOptions,
    stop: S,
) -> impl Future<Output = Result> + Send + use<S>
where
    S: Future<Output = ()> + Send + 'static,
{
    erased(serve(service, listener, options, Box::pin(stop)))
}

async fn serve(
    service: Arc<dyn ToolService>,
    listener: TcpListener,
    mut options: HttpOptions,
    stop: BoxFuture<'static, ()>,
) -> Result {
    let address = listener.local_addr()?;
    options.check(address.ip())?;
    // Every server shuts down on its own, even if servers share their options.
    options.shutdown = CancellationToken::new();
    let shutdown = options.shutdown.clone();
    // Dropping this future also ends the sessions.
    let _end = shutdown.clone().drop_guard();
    let sessions = Arc::new(Sessions::new(&options));
    let router = router(Arc::clone(&service), &options, Arc::clone(&sessions));
    service.begin();
    tracing::info!(url = %format_args!("http://{address}{ENDPOINT_PATH}"), "listening");
    let stopping = shutdown.clone();
    let bounds = (options.max_connections, options.client_timeout);
    let serving = listener::serve(listener, router, bounds, shutdown);
    let stopped = async {
        stop.await;
        // Also ends the sessions and their streams, which would keep their connections open.
        stopping.cancel();
        // Waiting for an execution keeps a connection open too (REQ-LIF-10).
        sessions.end();
        service.end_all().await;
    };
    tokio::join!(serving, stopped);
    // The last requests may have opened sessions and begun executions.
    sessions.end();
    service.end_all().await;
    Ok(())
}

/// Builds a router with tools at `/mcp`.
fn router(
    service: Arc<dyn ToolService>,
    options: &HttpOptions,
    sessions: Arc<Sessions>,
) -> axum::Router {
    let longest = service.max_message_bytes();
    let config = options.config(&*service);
    let shared = ServerState::new(service);
    let hosts = config.allowed_hosts.clone();
    let stop = options.shutdown.clone();
    let direct =
        DirectCalls::new(Arc::clone(&shared), Arc::clone(&sessions), hosts, options.sessions, stop);
    let budget = BodyBudget::new(options.max_inflight_bytes, longest);
    let guard = BodyGuard::new(direct, longest, options.client_timeout, budget);
    let factory = move || {
        let connection = Arc::new(Connection::http());
        made(&connection);
        // Shared, so that rmcp is compiled for a single handler type.
        Ok(Arc::new(Server::new(Arc::clone(&shared), connection)))
    };
    let service = StreamableHttpService::new(factory, sessions, config);
    axum::Router::new()
        .nest_service(ENDPOINT_PATH, service)
        .layer(axum::middleware::from_fn_with_state(guard, BodyGuard::pass))
}
