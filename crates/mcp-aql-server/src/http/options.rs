//! The options of the HTTP server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::rmcp::replay::ReplyLimits;
use crate::auth::Authenticator;

/// Path of the endpoint.
pub(super) const ENDPOINT_PATH: &str = "/mcp";
/// Upper bound of all configured timeouts.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Options for serving an adapter over HTTP.
///
/// By default, only requests to this machine are answered: the `Host` header, and a browser's `Origin`, must name the
/// loopback interface. You can allow more hosts and origins, but you cannot disable these checks.
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
    /// If `true`, the tables of the configuration file were applied.
    pub(super) is_configured: bool,
}

/// An authenticator shared by the servers with these options.
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
    /// Default of [`max_sessions`](Self::max_sessions).
    pub const DEFAULT_MAX_SESSIONS: usize = 1000;
    /// Default of [`max_sessions_per_principal`](Self::max_sessions_per_principal).
    pub const DEFAULT_MAX_SESSIONS_PER_PRINCIPAL: usize = 100;
    /// Default of [`session_timeout`](Self::session_timeout), in seconds.
    pub const DEFAULT_SESSION_TIMEOUT_SECONDS: u64 = 30 * 60;
    /// Default of [`client_timeout`](Self::client_timeout), in seconds.
    pub const DEFAULT_CLIENT_TIMEOUT_SECONDS: u64 = 30;
    /// Default of [`max_connections`](Self::max_connections).
    pub const DEFAULT_MAX_CONNECTIONS: usize = 1000;
    /// Default of [`max_inflight_bytes`](Self::max_inflight_bytes), in MiB.
    pub const DEFAULT_MAX_INFLIGHT_MIB: usize = 64;
    /// Default of [`reply_retention`](Self::reply_retention), in seconds.
    pub const DEFAULT_REPLY_RETENTION_SECONDS: u64 = 5 * 60;
    /// Default of [`max_kept_reply_bytes`](Self::max_kept_reply_bytes), in MiB.
    pub const DEFAULT_MAX_KEPT_REPLY_MIB: usize = 16;
    /// Default of [`max_kept_reply_bytes_per_session`](Self::max_kept_reply_bytes_per_session), in MiB.
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

    /// Sets how long calls are still served after the signal to stop. Default: no delay.
    ///
    /// Use this behind a load balancer. During the delay, `/readyz` is answered with 503, so that the load balancer
    /// sends its requests to other processes before this one rejects them. Afterwards the listener is closed. Calls on
    /// open connections are rejected half a second later, when requests on the last connections have arrived. Without a
    /// delay, connections are accepted until the end.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use mcp_aql::HttpOptions;
    ///
    /// let options = HttpOptions::new().stop_delay(Duration::from_secs(10));
    /// ```
    #[must_use]
    pub const fn stop_delay(mut self, delay: Duration) -> Self {
        self.stop_delay = delay;
        self
    }

    /// Accepts this `Host` in addition to loopback, for example `tasks.example.org`, or `tasks.example.org:8443` with a
    /// port.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into());
        self
    }

    /// Accepts web pages of this origin in addition to loopback, for example `https://app.example.org`, or
    /// `https://app.example.org:*` for any port.
    ///
    /// Browsers also need CORS headers. To send them, add a layer to [`Adapter::router`](crate::ServeHttp::router).
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.allowed_origins.push(origin.into());
        self
    }

    /// Allows [`Adapter::serve_http`](crate::ServeHttp::serve_http) to listen on an address that other machines can
    /// reach. You must also allow the host names that they use.
    #[must_use]
    pub fn allow_remote(mut self, on: bool) -> Self {
        self.remote = on;
        self
    }

    /// Authenticates each request.
    ///
    /// A request without a valid token is answered with 401. Clients find the authorization server in the metadata of
    /// the resource (RFC 9728). In an operation, read the principal with
    /// [`Context::principal`](mcp_aql_core::Context::principal), and require [scopes](mcp_aql_core::internal::config::Access).
    /// Sessions, executions and confirmation tokens belong to the principal that created them.
    ///
    /// ```
    /// use mcp_aql::HttpOptions;
    /// use mcp_aql::auth::{Principal, StaticTokens};
    ///
    /// # fn main() -> mcp_aql::Result<()> {
    /// // printf %s "$TOKEN" | sha256sum
    /// let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    /// let ada = Principal::new("operator", "ada").with_scopes(["tasks:read"]);
    /// let options = HttpOptions::new().authenticator(StaticTokens::new().hashed(hash, ada)?);
    /// # let _ = options;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn authenticator(mut self, authenticator: impl Authenticator) -> Self {
        self.authenticator = Some(Shared(Arc::new(authenticator)));
        self
    }

    /// Sets the URL of the endpoint as clients know it, for example `https://tasks.example.org/mcp`. It is published in
    /// the metadata of the resource. Default: `http://`, the host of the request, and `/mcp`.
    ///
    /// Set it if a proxy changes the path: clients look for the metadata at `/.well-known/oauth-protected-resource`
    /// followed by the path of this URL.
    #[must_use]
    pub fn resource(mut self, url: impl Into<String>) -> Self {
        self.resource = Some(url.into());
        self
    }

    /// Determines the answer to a call without the scope of its operation. Default: on.
    ///
    /// If `true`, such a call is answered with 403 and a challenge, so that the client can ask its user for the scope.
    /// Many clients show this as a failed connection. If `false`, the call is answered with 200 and
    /// `PERMISSION_DENIED`. The details of this error name the scope, so that the model can explain it to its user.
    #[must_use]
    pub const fn scope_challenges(mut self, on: bool) -> Self {
        self.scope_challenges = on;
        self
    }

    /// Allows an address that other machines can reach without an [authenticator](Self::authenticator). All callers
    /// with access to the address may then call every operation. Use this only if a proxy or the network authenticates
    /// callers.
    #[must_use]
    pub fn insecure_anonymous(mut self, on: bool) -> Self {
        self.insecure_anonymous = on;
        self
    }

    /// Keeps a session for each client of MCP versions before 2026-07-28. Default: on. Later versions have no sessions
    /// over HTTP, regardless of this setting.
    #[must_use]
    pub fn sessions(mut self, on: bool) -> Self {
        self.sessions = on;
        self
    }

    /// Sets the time after which an unused session ends. Default: 30 minutes. A session may last up to one eighth
    /// longer.
    ///
    /// The start of a call counts as use. A READ call without progress counts as use while it runs.
    #[must_use]
    pub fn session_timeout(mut self, after: Duration) -> Self {
        self.session_timeout = after;
        self
    }

    /// Sets the maximum number of sessions. Default: 1,000.
    ///
    /// At the limit, a new session evicts the least recently used idle one. Sessions without any request since
    /// `initialize` are evicted first if they hold more than an eighth of the limit. The client of an evicted session
    /// receives 404 for its next request, and opens a new session as MCP requires.
    ///
    /// A session is idle if it has no running call or execution and no executing agent, and its client reads no reply
    /// and no stream of events. If no session is idle, a new client receives HTTP's 503 with `Retry-After` and
    /// JSON-RPC's error -32000.
    ///
    /// A session takes about 65 KiB, or 105 KiB with the replies to ten changes, plus the state that your operations
    /// keep in it.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets the maximum number of sessions of one authenticated caller. One caller then cannot use up all of
    /// [`max_sessions`](Self::max_sessions). Default: 100. Callers without a principal have no limit of their own.
    ///
    /// At the limit, a new session evicts an idle one of the same caller, in the same order. If none is idle, the
    /// caller receives HTTP's 429 with `Retry-After` and JSON-RPC's error -32000. The sessions of other callers are not
    /// affected.
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

    /// Sets the timeout for slow and idle clients. Default: 30 seconds.
    ///
    /// The connection of a client is closed if sending the headers or the body of a request takes longer (status 408),
    /// if the client does not read its answer for this long, or if the connection is idle for this long. This timeout
    /// does not affect operations: use [`time_limit`](mcp_aql_core::AdapterBuilder::time_limit) to limit their
    /// duration.
    ///
    /// [`Adapter::router`](crate::ServeHttp::router) applies the timeout to bodies only, because the connections belong
    /// to your server.
    #[must_use]
    pub fn client_timeout(mut self, after: Duration) -> Self {
        self.client_timeout = after.min(MAX_TIMEOUT);
        self
    }

    /// Sets the maximum number of open connections. Default: 1,000.
    ///
    /// On Unix, the limit on open files may lower this value: to that limit minus 160, or to a quarter of it if this is
    /// more. The other descriptors remain for the operator console, stores and logs.
    ///
    /// A further connection closes the longest idle one. If none is idle, because every connection serves a request or
    /// a stream of events, the new client waits. After at most [`client_timeout`](Self::client_timeout), its connection
    /// is closed.
    ///
    /// [`Adapter::router`](crate::ServeHttp::router) is not affected, because the connections belong to your server.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Sets the maximum total size of all requests being received, in bytes. Default: 64 MiB. The limit is never less
    /// than the maximum size of one request.
    ///
    /// At the limit, the oldest incomplete request is aborted with HTTP's 503, `Retry-After` and JSON-RPC's error
    /// -32000. If all other requests are complete, the new one is rejected in the same way.
    #[must_use]
    pub fn max_inflight_bytes(mut self, bytes: usize) -> Self {
        self.max_inflight_bytes = bytes;
        self
    }

    /// Sets how long the reply to a finished call is kept. Default: 5 minutes, but never longer than its session. After
    /// a lost connection, the client can fetch the reply with `Last-Event-ID`.
    ///
    /// Replies sent as events are kept: those to calls that change something or request progress, and those to READ
    /// calls longer than two seconds. A client that resumes a reply that is no longer kept receives an error as the
    /// answer to its request.
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

    /// Sets the maximum total size of the [kept](Self::reply_retention) replies of all sessions. Default: 16 MiB.
    ///
    /// At the limit, the oldest replies are dropped. Each reply counts with its length plus 1 KiB. Set 0 to keep no
    /// finished reply. The events of running calls are not included; there are at most 64 for each call.
    #[must_use]
    pub fn max_kept_reply_bytes(mut self, bytes: usize) -> Self {
        self.replies.bytes = bytes;
        self
    }

    /// Sets the maximum total size of the [kept](Self::reply_retention) replies of one session, in bytes. One session
    /// then cannot use up all of [`max_kept_reply_bytes`](Self::max_kept_reply_bytes). Default: 4 MiB.
    ///
    /// At the limit, the oldest replies of the session are dropped. A reply larger than the limit is not kept.
    #[must_use]
    pub fn max_kept_reply_bytes_per_session(mut self, bytes: usize) -> Self {
        self.replies.session_bytes = bytes;
        self
    }
}
