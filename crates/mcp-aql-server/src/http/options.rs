//! The options of the HTTP server.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use mcp_aql_core::{Error, Result};

use super::replay::ReplyLimits;
use crate::auth::Authenticator;

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
    pub(super) allowed_hosts: Vec<String>,
    pub(super) allowed_origins: Vec<String>,
    pub(super) remote: bool,
    pub(super) sessions: bool,
    pub(super) session_timeout: Duration,
    pub(super) max_sessions: usize,
    pub(super) max_sessions_per_principal: usize,
    pub(super) client_timeout: Duration,
    pub(super) max_connections: usize,
    pub(super) max_inflight_bytes: usize,
    pub(super) replies: ReplyLimits,
    pub(super) stop_delay: Duration,
    pub(super) shutdown: CancellationToken,
    pub(super) authenticator: Option<Shared>,
    pub(super) resource: Option<String>,
    pub(super) scope_challenges: bool,
    pub(super) insecure_anonymous: bool,
    /// Whether the tables of the configuration file were applied.
    pub(super) is_configured: bool,
}

/// An authenticator that the servers of these options share.
#[derive(Clone)]
pub(super) struct Shared(pub(super) Arc<dyn Authenticator>);

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Authenticator")
    }
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl HttpOptions {
    /// The default of [`max_sessions`](Self::max_sessions).
    pub const DEFAULT_MAX_SESSIONS: usize = 1000;
    /// The default of [`max_sessions_per_principal`](Self::max_sessions_per_principal).
    pub const DEFAULT_MAX_SESSIONS_PER_PRINCIPAL: usize = 100;
    /// The default of [`session_timeout`](Self::session_timeout), in seconds.
    pub const DEFAULT_SESSION_TIMEOUT_SECONDS: u64 = 30 * 60;
    /// The default of [`client_timeout`](Self::client_timeout), in seconds.
    pub const DEFAULT_CLIENT_TIMEOUT_SECONDS: u64 = 30;
    /// The default of [`max_connections`](Self::max_connections).
    pub const DEFAULT_MAX_CONNECTIONS: usize = 1000;
    /// The default of [`max_inflight_bytes`](Self::max_inflight_bytes), in MiB.
    pub const DEFAULT_MAX_INFLIGHT_MIB: usize = 64;
    /// The default of [`reply_retention`](Self::reply_retention), in seconds.
    pub const DEFAULT_REPLY_RETENTION_SECONDS: u64 = 5 * 60;
    /// The default of [`max_kept_reply_bytes`](Self::max_kept_reply_bytes), in MiB.
    pub const DEFAULT_MAX_KEPT_REPLY_MIB: usize = 16;
    /// The default of [`max_kept_reply_bytes_per_session`](Self::max_kept_reply_bytes_per_session), in MiB.
    pub const DEFAULT_MAX_KEPT_REPLY_MIB_PER_SESSION: usize = 4;

    /// Returns the defaults: loopback only, with sessions.
    pub fn new() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            remote: false,
            sessions: true,
            session_timeout: Duration::from_secs(Self::DEFAULT_SESSION_TIMEOUT_SECONDS),
            max_sessions: Self::DEFAULT_MAX_SESSIONS,
            max_sessions_per_principal: Self::DEFAULT_MAX_SESSIONS_PER_PRINCIPAL,
            client_timeout: Duration::from_secs(Self::DEFAULT_CLIENT_TIMEOUT_SECONDS),
            max_connections: Self::DEFAULT_MAX_CONNECTIONS,
            max_inflight_bytes: Self::DEFAULT_MAX_INFLIGHT_MIB << 20,
            replies: ReplyLimits {
                retention: Duration::from_secs(Self::DEFAULT_REPLY_RETENTION_SECONDS),
                bytes: Self::DEFAULT_MAX_KEPT_REPLY_MIB << 20,
                session_bytes: Self::DEFAULT_MAX_KEPT_REPLY_MIB_PER_SESSION << 20,
            },
            stop_delay: Duration::ZERO,
            shutdown: CancellationToken::new(),
            authenticator: None,
            resource: None,
            scope_challenges: true,
            insecure_anonymous: false,
            is_configured: false,
        }
    }

    /// Sets how long calls are still served after the signal to stop. Meanwhile `/readyz` is answered with 503, so that a
    /// load balancer sends its requests to other processes before this one refuses them. Afterwards the listener is closed,
    /// and half a second later, when requests on the last connections have arrived, calls on open ones are refused. The
    /// default is no time: connections are accepted until the end.
    #[must_use]
    pub const fn stop_delay(mut self, delay: Duration) -> Self {
        self.stop_delay = delay;
        self
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
    /// A browser also needs CORS headers: add a layer for them to [`Adapter::router`](crate::ServeHttp::router).
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.allowed_origins.push(origin.into());
        self
    }

    /// Allows [`Adapter::serve_http`](crate::ServeHttp::serve_http) to listen on an address that other machines can reach. The
    /// host names that they use must be allowed too.
    #[must_use]
    pub fn allow_remote(mut self, on: bool) -> Self {
        self.remote = on;
        self
    }

    /// Authenticates each request. Without a valid token it is answered with 401, and the metadata of the resource
    /// (RFC 9728) tell clients where to get one. An operation reads the principal with
    /// [`Context::principal`](mcp_aql_core::Context::principal), and needs its [scopes](mcp_aql_core::internal::config::Access).
    /// Sessions, executions and confirmation tokens belong to the principal that began them.
    #[must_use]
    pub fn authenticator(mut self, authenticator: impl Authenticator) -> Self {
        self.authenticator = Some(Shared(Arc::new(authenticator)));
        self
    }

    /// Sets the URL of the endpoint as clients write it, for the metadata of the resource:
    /// `https://tasks.example.org/mcp`. Default: `http://`, the host of the request and `/mcp`. Clients look for the
    /// metadata at `/.well-known/oauth-protected-resource` and the path of this URL, also if a proxy changes the path.
    #[must_use]
    pub fn resource(mut self, url: impl Into<String>) -> Self {
        self.resource = Some(url.into());
        self
    }

    /// Answers a call without the scope of its operation with 403 and a challenge, so that the client can ask its user for
    /// the scope. Default: on. Many clients show that as a failed connection; without it, such a call is answered with 200
    /// and `PERMISSION_DENIED`, whose details name the scope, so that the model can tell its user.
    #[must_use]
    pub const fn scope_challenges(mut self, on: bool) -> Self {
        self.scope_challenges = on;
        self
    }

    /// Allows an address that other machines can reach without an [authenticator](Self::authenticator): everybody who
    /// reaches it may call every operation. Use it if a proxy or a network authenticates callers.
    #[must_use]
    pub fn insecure_anonymous(mut self, on: bool) -> Self {
        self.insecure_anonymous = on;
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

    /// Sets the maximum number of sessions. Default: 1,000. Beyond it, a new session evicts the idle one that has been
    /// unused for longest. If sessions that have served no request since `initialize` hold more than an eighth of the
    /// places, they come first. The client of an evicted session gets 404 for its next request, and opens a new session
    /// as MCP requires.
    ///
    /// A session is idle if it has no running call or execution and no agent that executes, and its client reads no
    /// reply and no stream of events. If every session is in use, a new client gets HTTP's 503 with `Retry-After` and
    /// JSON-RPC's error -32000. A session takes about 65 KiB, or 105 KiB with the replies to ten changes, plus the state
    /// that your operations keep in it.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets the maximum number of sessions of one authenticated caller, so that one cannot use up all of
    /// [`max_sessions`](Self::max_sessions). Default: 100. Beyond it, a new session evicts an idle one of this caller in
    /// the same order. If all of them are in use, the caller gets HTTP's 429 with `Retry-After` and JSON-RPC's error
    /// -32000. The sessions of others are not affected, and callers without a principal have no limit of their own.
    ///
    /// ```
    /// use mcp_aql::HttpOptions;
    ///
    /// let options = HttpOptions::new().max_sessions(200).max_sessions_per_principal(20);
    /// ```
    #[must_use]
    pub fn max_sessions_per_principal(mut self, sessions: usize) -> Self {
        self.max_sessions_per_principal = sessions;
        self
    }

    /// Closes the connection of a client that takes longer than this to send a request's headers or
    /// its body (408), that does not read its answer for this long, or that is idle for this long.
    /// Default: 30 seconds. The duration of operations is limited by
    /// [`time_limit`](mcp_aql_core::AdapterBuilder::time_limit).
    ///
    /// [`Adapter::router`](crate::ServeHttp::router) applies it to bodies only: the connections belong to the surrounding
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
    /// [`Adapter::router`](crate::ServeHttp::router) is not affected: its connections belong to the surrounding server.
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

    /// Sets the time for which the reply to a finished call is kept, so that a client that has lost its connection can
    /// fetch it with `Last-Event-ID`. Default: 5 minutes. A reply is not kept for longer than its session.
    ///
    /// Replies that are sent as events are kept: those to calls that change something or request progress, and to READ
    /// calls that take longer than two seconds. A client that resumes a reply which is not kept any more gets an error
    /// as the answer to its request.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use mcp_aql::HttpOptions;
    ///
    /// let options = HttpOptions::new()
    ///     .reply_retention(Duration::from_secs(60))
    ///     .max_kept_reply_bytes(64 << 20)
    ///     .max_kept_reply_bytes_per_session(1 << 20);
    /// ```
    #[must_use]
    pub fn reply_retention(mut self, time: Duration) -> Self {
        self.replies.retention = time.min(MAX_TIMEOUT);
        self
    }

    /// Sets the total size of the [kept](Self::reply_retention) replies of all sessions. Default: 16 MiB. Beyond it the
    /// oldest are dropped. Each reply counts with its text and 1 KiB. With 0, no finished reply is kept.
    ///
    /// The events of running calls are not included: at most 64 for each call.
    #[must_use]
    pub fn max_kept_reply_bytes(mut self, bytes: usize) -> Self {
        self.replies.bytes = bytes;
        self
    }

    /// Sets the total size of the [kept](Self::reply_retention) replies of one session, so that one cannot use up all of
    /// [`max_kept_reply_bytes`](Self::max_kept_reply_bytes). Default: 4 MiB. Beyond it the oldest replies of the session
    /// are dropped. A reply that is larger than this is not kept.
    #[must_use]
    pub fn max_kept_reply_bytes_per_session(mut self, bytes: usize) -> Self {
        self.replies.session_bytes = bytes;
        self
    }

    /// Checks whether the options allow a server to listen on this address.
    ///
    /// # Errors
    /// [`Error::Usage`] if other machines could reach the address and the options do not allow
    /// that, or if an allowed host or origin is invalid, such as `https://tasks.example.org` as a host.
    pub fn check(&self, address: IpAddr) -> Result {
        if let Some(host) = self.allowed_hosts.iter().find(|host| !is_host(host)) {
            return Err(Error::Usage(format!(
                "'{host}' is not a host: write it without scheme and path, such as `tasks.example.org`"
            )));
        }
        let is_origin = |origin: &&String| {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            *origin == "null" || authority.is_some_and(is_host)
        };
        if let Some(origin) = self.allowed_origins.iter().find(|origin| !is_origin(origin)) {
            return Err(Error::Usage(format!(
                "'{origin}' is not an origin: write scheme, host and port, such as `https://app.example.org`"
            )));
        }
        if address.is_loopback() {
            return Ok(());
        }
        if self.remote && !self.allowed_hosts.is_empty() {
            return match self.authenticator.is_some() || self.insecure_anonymous {
                true => Ok(()),
                false => Err(Error::Usage(format!(
                    "{address} can be reached from other machines, and nothing authenticates callers: configure it \
                     (`authenticator`, the table `auth` of the configuration), or let everybody call every operation \
                     (`insecure_anonymous`, `--insecure-anonymous`)"
                ))),
            };
        }
        let missing = if self.remote {
            "name the hosts by which it is called (`allow_hosts`, `--allow-host`)"
        } else {
            "allow that (`allow_remote`, `--allow-remote`) and name the hosts by which it is called \
             (`allow_hosts`, `--allow-host`)"
        };
        Err(Error::Usage(format!("{address} can be reached from other machines: {missing}")))
    }

    /// The accepted hosts: loopback, and those [allowed](Self::allow_host).
    pub fn allowed_hosts(&self) -> Vec<String> {
        let hosts = ["localhost", "127.0.0.1", "::1"].into_iter().map(str::to_owned);
        hosts.chain(self.allowed_hosts.iter().cloned()).collect()
    }

    /// The accepted origins: loopback, and those [allowed](Self::allow_origin).
    pub fn allowed_origins(&self) -> Vec<String> {
        let origins = ["localhost", "127.0.0.1", "[::1]"].into_iter().flat_map(|host| {
            ["http", "https"].into_iter().map(move |scheme| format!("{scheme}://{host}:*"))
        });
        origins.chain(self.allowed_origins.iter().cloned()).collect()
    }
}

/// Returns whether this can be a host, with or without a port.
fn is_host(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', '@', '?', '#']) && !text.contains(char::is_whitespace)
}
