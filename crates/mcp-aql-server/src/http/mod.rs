//! Serves tools over MCP's streamable HTTP transport.

pub mod auth;
mod authentication;
mod body;
mod cancellation;
mod configuration;
mod connections;
#[cfg(unix)]
mod descriptor_limit;
#[cfg(not(unix))]
#[path = "without_descriptor_limit.rs"]
mod descriptor_limit;
mod direct;
mod direct_reply;
mod endpoint;
mod exposure;
mod headers;
mod health;
mod listener;
mod options;
mod request_origin;
mod rmcp;
mod stop_delay;

use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use futures_util::FutureExt as _;
use mcp_aql_core::internal::execution::EndScope;
use mcp_aql_core::internal::util::erased;
use mcp_aql_core::{Adapter, Result};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::authentication::{Authenticated, Resource};
use self::body::budget::BodyBudget;
use self::direct::DirectCalls;
use self::endpoint::McpEndpoint;
pub use self::listener::serve as serve_connections;
pub use self::options::HttpOptions;
use self::options::{ENDPOINT_PATH, Shared};
use self::rmcp::replay::RetentionLimits;
use self::rmcp::server::{Access, RmcpService, RmcpState};
use self::rmcp::sessions::{SessionLimits, Sessions};
use self::stop_delay::StopDelay;
use crate::adapter::AdapterTools;
use crate::mcp::drain::Shutdown;
use crate::mcp::server::ServerState;
use crate::mcp::service::ToolService;
use crate::stop::on_signal;
pub use mcp_aql_core::internal::adapter::HttpSettings;

impl HttpOptions {
    /// Serves your own router with the connection handling of adapters, until `stop` completes. The router need not
    /// belong to an adapter.
    ///
    /// The listener must be on loopback unless these options allow more. The limits on slow clients
    /// ([`client_timeout`](HttpSettings::client_timeout)), connections and bytes apply.
    ///
    /// Your router must check the contents of requests, including [hosts](Self::allowed_hosts) and
    /// [origins](Self::allowed_origins), and authenticate its callers.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`](mcp_aql_core::Error::Usage) if other machines could reach the address and the options
    /// do not allow that. Also returned if the options have an [authenticator](Self::authenticator), because it only
    /// applies to the router of an adapter.
    pub async fn serve_router<S>(
        self,
        listener: TcpListener,
        router: axum::Router,
        stop: S,
    ) -> Result
    where
        S: Future<Output = ()> + Send + 'static,
    {
        if self.authenticator.is_some() {
            let problem = "an authenticator only applies to the router of an adapter";
            return Err(mcp_aql_core::Error::Usage(problem.to_owned()));
        }
        let address = listener.local_addr()?;
        self.check(address.ip())?;
        let ended = CancellationToken::new();
        let _end = ended.clone().drop_guard();
        let settings = &self.settings;
        let bounds = (settings.client_timeout, BodyBudget::new(settings.max_inflight_bytes, 0));
        let router =
            router.layer(axum::middleware::from_fn_with_state(bounds, self::body::within_bounds));
        tracing::info!(url = %format_args!("http://{address}"), "listening");
        let stopping = ended.clone();
        let stopped = async {
            stop.await;
            stopping.cancel();
        };
        let bounds = (settings.max_connections, settings.client_timeout);
        tokio::join!(listener::serve(listener, router, bounds, ended), stopped);
        Ok(())
    }

    fn session_limits(&self) -> SessionLimits {
        let settings = &self.settings;
        SessionLimits {
            timeout: settings.session_timeout,
            max_sessions: settings.max_sessions,
            max_sessions_per_principal: settings.max_sessions_per_principal,
            replies: RetentionLimits {
                retention: settings.reply_retention,
                bytes: settings.max_kept_reply_bytes,
                session_bytes: settings.max_kept_reply_bytes_per_session,
            },
        }
    }
}

/// Serves an adapter over streamable HTTP.
pub trait ServeHttp {
    /// Returns an axum router for the path `/mcp`. Merge it into your own server.
    ///
    /// Bodies that are too long or not valid UTF-8 are answered with the protocol's error if they are calls with an id.
    /// All others are answered with 413, or with 400 and a JSON-RPC error. At most
    /// [`SizeLimits::max_request_size`](mcp_aql_core::SizeLimits) bytes of a long body are kept.
    ///
    /// Call [`end_sessions`](Adapter::end_sessions) when your server stops. The router has no paths for probes: use
    /// [`check_store`](Adapter::check_store) in the probes of your server, and before it starts.
    fn router(&self, options: &HttpOptions) -> axum::Router;

    /// Serves MCP clients over streamable HTTP at `/mcp` until the process receives Ctrl-C or SIGTERM.
    ///
    /// The signal starts a graceful shutdown:
    ///
    /// 1. After the [delay](HttpSettings::stop_delay), if there is one, the listener is closed and new calls are
    ///    rejected.
    /// 2. Running calls and executions have [`drain_timeout`](mcp_aql_core::AdapterBuilder::drain_timeout) to finish. A
    ///    second signal ends the wait. Unfinished calls are logged.
    /// 3. All sessions end. Executions started by their clients and executions without a session are canceled,
    ///    confirmation tokens are revoked, and agents are stopped. All of this is in the store and in the audit log
    ///    when the future completes. The wait is bounded; see [`end_sessions`](Adapter::end_sessions).
    ///
    /// Probes need no authentication. `/livez` is answered while the process runs. `/readyz` is answered with 503 while
    /// the [store](Adapter::check_store) cannot be used and during the shutdown.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`](mcp_aql_core::Error::Usage) if other machines could reach the address and `options`
    /// does not allow that, [`Error::Io`](mcp_aql_core::Error::Io) if binding the address fails, and
    /// [`Error::Other`](mcp_aql_core::Error::Other) if the adapter's [store](Adapter::check_store) cannot be used.
    fn serve_http(
        &self,
        address: SocketAddr,
        options: HttpOptions,
    ) -> impl Future<Output = Result> + Send;

    /// Serves like [`serve_http`](Self::serve_http), on your own listener and until `stop` completes. Pass a future or
    /// a [`Shutdown`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`serve_http`](Self::serve_http).
    fn serve_listener<S>(
        &self,
        listener: TcpListener,
        options: HttpOptions,
        stop: S,
    ) -> impl Future<Output = Result> + Send
    where
        S: Into<Shutdown>;
}

impl ServeHttp for Adapter {
    fn router(&self, options: &HttpOptions) -> axum::Router {
        let options = options.clone().configured_or_closed(self);
        let service = AdapterTools::new(self);
        let sessions = Arc::new(Sessions::new(options.session_limits(), Some(self)));
        served(service, &options, sessions).0
    }

    fn serve_http(
        &self,
        address: SocketAddr,
        options: HttpOptions,
    ) -> impl Future<Output = Result> + Send {
        erased(async move {
            let options = options.configured(self)?;
            options.check(address.ip())?;
            let listener = bind(address).await?;
            listen(self, listener, options, on_signal()).await
        })
    }

    fn serve_listener<S>(
        &self,
        listener: TcpListener,
        options: HttpOptions,
        stop: S,
    ) -> impl Future<Output = Result> + Send
    where
        S: Into<Shutdown>,
    {
        erased(listen(self, listener, options, stop.into()))
    }
}

/// Binds a listener to an address. Errors name the address and suggest a solution.
///
/// # Errors
///
/// Returns [`Error::Io`](mcp_aql_core::Error::Io) if the address is in use or does not belong to this machine.
pub async fn bind(address: SocketAddr) -> Result<TcpListener> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AddrInUse => ": stop the program that listens there, or choose another port",
            ErrorKind::AddrNotAvailable => ": it is not an address of this machine",
            ErrorKind::PermissionDenied => ": choose a port from 1024 on",
            _ => "",
        };
        std::io::Error::new(error.kind(), format!("cannot listen on {address}: {error}{hint}"))
            .into()
    })
}

async fn listen(
    adapter: &Adapter,
    listener: TcpListener,
    options: HttpOptions,
    mut stop: Shutdown,
) -> Result {
    let options = options.configured(adapter)?;
    options.check(listener.local_addr()?.ip())?;
    let _services = tokio::select! {
        biased;
        started = adapter.start_services() => started?,
        // Stop even if the store hangs.
        () = &mut stop.begin => return Ok(()),
    };
    let served = serve(AdapterTools::new(adapter), listener, options, stop).await;
    adapter.flush_tracer().await;
    served
}

/// Serves tools over streamable HTTP at `/mcp` until `stop` completes. Pass a future or a [`Shutdown`].
///
/// # Errors
///
/// Returns [`Error::Usage`](mcp_aql_core::Error::Usage) if other machines could reach the address and `options` does
/// not allow that.
pub fn serve_tools_listener<S>(
    service: Arc<dyn ToolService>,
    listener: TcpListener,
    options: HttpOptions,
    stop: S,
) -> impl Future<Output = Result> + Send + use<S>
where
    S: Into<Shutdown>,
{
    erased(serve(service, listener, options, stop.into()))
}

async fn serve(
    service: Arc<dyn ToolService>,
    listener: TcpListener,
    mut options: HttpOptions,
    Shutdown { begin, cut_off, on_serving }: Shutdown,
) -> Result {
    let address = listener.local_addr()?;
    options.check(address.ip())?;
    // Every server needs its own token, because several servers may share their options.
    options.shutdown = CancellationToken::new();
    let shutdown = options.shutdown.clone();
    // Also end the sessions if this future is dropped.
    let _end = shutdown.clone().drop_guard();
    let sessions = Arc::new(Sessions::new(options.session_limits(), service.adapter()));
    let (router, shared) = served(Arc::clone(&service), &options, Arc::clone(&sessions));
    let stop_delay = StopDelay::default();
    let probes = health::routes(Arc::clone(&shared), stop_delay.announced.clone());
    let router = stop_delay.layer(router.merge(probes));
    service.begin();
    on_serving();
    tracing::info!(url = %format_args!("http://{address}{ENDPOINT_PATH}"), "listening");
    let (stopping, cut_off) = (shutdown.clone(), cut_off.shared());
    let bounds = (options.settings.max_connections, options.settings.client_timeout);
    let refusing = stop_delay.refusing.clone();
    let connections = listener::serve_until(listener, router, bounds, refusing, shutdown);
    let interrupted = async {
        stopping.cancelled().await;
        cut_off.clone().await;
    };
    let connections = async {
        tokio::select! {
            biased;
            () = connections => {}
            // Dropping the future drops the connections.
            () = interrupted => {}
        }
    };
    let stopped = async {
        begin.await;
        stop_delay.begin(options.settings.stop_delay, cut_off.clone()).await;
        // Requests are still accepted during this wait, and new calls are rejected.
        shared.stop(cut_off.clone()).await;
        // This also ends the sessions and their streams. Otherwise the streams would keep their connections open.
        stopping.cancel();
        // A client that waits for an execution keeps its connection open, too (REQ-LIF-10).
        sessions.end();
        shared.end_sessions();
        service.end(EndScope::EndedAndSessionless).await;
    };
    tokio::join!(connections, stopped);
    // The last requests may have opened sessions.
    sessions.end();
    shared.end_sessions();
    service.end(EndScope::EndedAndSessionless).await;
    shared.drain().report();
    Ok(())
}

/// Builds a router with tools at `/mcp`, and the state shared by its connections.
fn served(
    service: Arc<dyn ToolService>,
    options: &HttpOptions,
    sessions: Arc<Sessions>,
) -> (axum::Router, Arc<ServerState>) {
    let tools = service.tools();
    let shared = ServerState::new(service, &tools);
    let settings = shared.settings();
    let longest = settings.max_message_bytes;
    let resource = options.authenticator.clone().map(|Shared(authenticator)| Resource {
        authenticator,
        url: options.resource.as_deref().map(Arc::from),
        name: settings.name.as_str().into(),
        scopes: settings.scopes.as_slice().into(),
        hosts: options.allowed_hosts().into(),
        scope_challenges: options.scope_challenges,
    });
    let (hosts, stop) = (options.allowed_hosts(), options.shutdown.clone());
    let settings = &options.settings;
    let keeps_sessions = !settings.stateless;
    let direct =
        DirectCalls::new(Arc::clone(&shared), Arc::clone(&sessions), hosts, keeps_sessions, stop);
    let budget = BodyBudget::new(settings.max_inflight_bytes, longest);
    let access = Access {
        hosts: options.allowed_hosts(),
        origins: options.allowed_origins(),
        keeps_sessions,
        shutdown: options.shutdown.clone(),
    };
    let rmcp = RmcpService::new(RmcpState::new(Arc::clone(&shared), tools), sessions, access);
    let inner = McpEndpoint::new(direct, rmcp, longest, settings.client_timeout, budget);
    let endpoint = Authenticated { inner, resource: resource.clone() };
    let router = axum::Router::new()
        .route_service(ENDPOINT_PATH, endpoint.clone())
        .route_service(&format!("{ENDPOINT_PATH}/"), endpoint.clone())
        .route_service(&format!("{ENDPOINT_PATH}/{{*rest}}"), endpoint);
    let ended = options.shutdown.clone();
    let checks = axum::middleware::from_fn_with_state(ended, headers::checked);
    let Some(resource) = resource else { return (router.layer(checks), shared) };
    let router = resource.metadata_paths().into_iter().fold(router, |router, path| {
        let resource = resource.clone();
        let metadata = |headers: HeaderMap| async move { resource.metadata(&headers) };
        router.route(&path, axum::routing::get(metadata))
    });
    (router.layer(checks), shared)
}
