use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::adapter_tools::AdapterTools;
use super::body::Guard;
use super::body_budget::BodyBudget;
use super::connection::Connection;
use super::direct::Direct;
use super::listen;
use super::server::{Server, Shared};
use super::service::ToolService;
use super::sessions::{Sessions, made};
use crate::adapter::Adapter;
use crate::future::BoxFuture;
use crate::future::erased;
use crate::main_error::{Error, Result};
use crate::stop::told_to_stop;

/// Where the adapter sits on its server.
pub(super) const PATH: &str = "/mcp";
/// The longest that a client is ever waited for.
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

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
    pub(crate) const MAX_SESSIONS: usize = 1000;
    pub(crate) const CLIENT_SECONDS: u64 = 30;
    pub(crate) const MAX_CONNECTIONS: usize = 1000;
    pub(crate) const MAX_INFLIGHT_MIB: usize = 64;

    /// Loopback only, with sessions.
    pub fn new() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            remote: false,
            sessions: true,
            session_timeout: Duration::from_secs(30 * 60),
            max_sessions: Self::MAX_SESSIONS,
            client_timeout: Duration::from_secs(Self::CLIENT_SECONDS),
            max_connections: Self::MAX_CONNECTIONS,
            max_inflight_bytes: Self::MAX_INFLIGHT_MIB << 20,
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

    /// Ends a session that was not used for so long, or up to an eighth longer. Default: 30 minutes.
    ///
    /// A call counts when it begins; a READ, unless it asked for progress, for as long as it runs.
    #[must_use]
    pub fn session_timeout(mut self, after: Duration) -> Self {
        self.session_timeout = after;
        self
    }

    /// Opens so many sessions at a time. Default: 1,000. A client for which there is no place gets
    /// HTTP's 503 with `Retry-After`, and JSON-RPC's error -32000; nobody loses a session to it.
    ///
    /// Clients that leave without a word keep their places until
    /// [`session_timeout`](Self::session_timeout). A session without calls takes some 60 KiB, and what
    /// your operations keep in it.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Gives up a client that takes longer than this to send a request's headers, or its body (408),
    /// or that reads nothing of its answer for so long; closes a connection that was not used for so
    /// long. Default: 30 seconds. How long an operation takes is
    /// [`time_limit`](crate::AdapterBuilder::time_limit)'s business.
    ///
    /// [`Adapter::router`] keeps to it for bodies; the rest belongs to whoever owns the connections.
    #[must_use]
    pub fn client_timeout(mut self, after: Duration) -> Self {
        self.client_timeout = after.min(YEAR);
        self
    }

    /// Sets the maximum number of open connections. Default: 1,000, and on Unix never so many that fewer
    /// than 160 of the files that the process may open are left to the rest of it, or three quarters of
    /// them where that is less: the operator console, stores and logs have room.
    ///
    /// A further connection closes the one that has been idle for longest. Where every connection serves
    /// a request or a stream of events, the new client waits for [`client_timeout`](Self::client_timeout)
    /// at most and is hung up on then.
    ///
    /// [`Adapter::router`] is not affected: its connections belong to the server around it.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Sets the maximum number of bytes of all requests that are being received. Default: 64 MiB, and
    /// never less than the longest request takes.
    ///
    /// Beyond it, the request that has been incomplete for longest is given up. It gets HTTP's 503 with
    /// `Retry-After`, and JSON-RPC's error -32000. So does a further request where all others are complete.
    #[must_use]
    pub fn max_inflight_bytes(mut self, bytes: usize) -> Self {
        self.max_inflight_bytes = bytes;
        self
    }

    /// Whether the options let a server listen there.
    ///
    /// # Errors
    /// [`Error::Usage`] when others could reach the address and the options do not allow that.
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

    /// The hosts that are answered to: loopback, and what was [allowed](Self::allow_host).
    pub fn hosts(&self) -> Vec<String> {
        let hosts = ["localhost", "127.0.0.1", "::1"].into_iter().map(str::to_owned);
        hosts.chain(self.allowed_hosts.iter().cloned()).collect()
    }

    /// The origins whose pages are answered: loopback, and what was [allowed](Self::allow_origin).
    pub fn origins(&self) -> Vec<String> {
        let origins = ["localhost", "127.0.0.1", "[::1]"].into_iter().flat_map(|host| {
            ["http", "https"].into_iter().map(move |scheme| format!("{scheme}://{host}:*"))
        });
        origins.chain(self.allowed_origins.iter().cloned()).collect()
    }

    /// Serves a router that is no adapter, on connections like an adapter's, until `stop` is done:
    /// nothing but loopback unless these options allow it, clients that send or read nothing for
    /// [`client_timeout`](Self::client_timeout) are given up, and
    /// [connections](Self::max_connections) and [bytes](Self::max_inflight_bytes) are bounded.
    ///
    /// What requests may say is the router's to check, [hosts](Self::hosts) and
    /// [origins](Self::origins) too.
    ///
    /// # Errors
    /// [`Error::Usage`] when others could reach the address and the options do not allow that.
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
        tokio::join!(listen::serve(listener, router, bounds, ended), stopped);
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
    /// The adapter at `/mcp` of an axum router, to be merged into a server of your own.
    ///
    /// Bodies that are too long, or no text, are answered with the protocol's error where they are
    /// calls with an id; otherwise with 413, or 400 and JSON-RPC's error. No more of a long body is
    /// kept than [`Limits::max_request_size`](crate::Limits) could allow.
    ///
    /// When your server stops, call [`end_executions`](Self::end_executions).
    pub fn router(&self, options: &HttpOptions) -> axum::Router {
        router(AdapterTools::new(self), options, Arc::new(Sessions::new(options)))
    }

    /// Serves MCP clients over streamable HTTP at `/mcp`, until the process is told to stop
    /// (Ctrl-C, or SIGTERM). Then all sessions end: executions that these clients have begun, and all
    /// others without a session, are cancelled, confirmation tokens are revoked and agents are stopped.
    /// All of this is in the store and in the audit log when the future completes. The wait is bounded;
    /// see [`end_executions`](Self::end_executions).
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

/// Serves tools over streamable HTTP at `/mcp`, until `stop` is done.
///
/// # Errors
/// [`Error::Usage`] when others could reach the address and `options` does not allow that.
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
    // A server's end is its own, even if its options are those of another one.
    options.shutdown = CancellationToken::new();
    let shutdown = options.shutdown.clone();
    // Dropping this future ends the sessions as well.
    let _end = shutdown.clone().drop_guard();
    let sessions = Arc::new(Sessions::new(&options));
    let router = router(Arc::clone(&service), &options, Arc::clone(&sessions));
    service.begin();
    tracing::info!(url = %format_args!("http://{address}{PATH}"), "listening");
    let stopping = shutdown.clone();
    let bounds = (options.max_connections, options.client_timeout);
    let serving = listen::serve(listener, router, bounds, shutdown);
    let stopped = async {
        stop.await;
        // Ends the sessions and their streams too, which would keep their connections open.
        stopping.cancel();
        // Whoever waits for an execution keeps a connection open too (REQ-LIF-10).
        sessions.end();
        service.end_all().await;
    };
    tokio::join!(serving, stopped);
    // The last requests may have opened sessions, and begun executions.
    sessions.end();
    service.end_all().await;
    Ok(())
}

/// Tools at `/mcp`.
fn router(
    service: Arc<dyn ToolService>,
    options: &HttpOptions,
    sessions: Arc<Sessions>,
) -> axum::Router {
    let longest = service.max_message_bytes();
    let config = options.config(&*service);
    let shared = Shared::new(service);
    let hosts = config.allowed_hosts.clone();
    let stop = options.shutdown.clone();
    let direct =
        Direct::new(Arc::clone(&shared), Arc::clone(&sessions), hosts, options.sessions, stop);
    let budget = BodyBudget::new(options.max_inflight_bytes, longest);
    let guard = Guard::new(direct, longest, options.client_timeout, budget);
    let factory = move || {
        let connection = Arc::new(Connection::http());
        made(&connection);
        // Shared, as over a stream: rmcp is compiled for one kind of handler.
        Ok(Arc::new(Server::new(Arc::clone(&shared), connection)))
    };
    let service = StreamableHttpService::new(factory, sessions, config);
    axum::Router::new()
        .nest_service(PATH, service)
        .layer(axum::middleware::from_fn_with_state(guard, Guard::pass))
}
