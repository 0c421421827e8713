//! The options of the HTTP server.

use std::fmt;
use std::sync::Arc;

use mcp_aql_core::internal::adapter::HttpSettings;
use tokio_util::sync::CancellationToken;

use crate::auth::Authenticator;

/// Path of the endpoint.
pub(super) const ENDPOINT_PATH: &str = "/mcp";

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
    /// What operators can configure: the number of sessions and connections, the timeouts, and more.
    pub settings: HttpSettings,
    pub(super) shutdown: CancellationToken,
    pub(super) authenticator: Option<Shared>,
    pub(super) resource: Option<String>,
    pub(super) scope_challenges: bool,
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
    /// Returns the defaults: loopback only, with sessions.
    pub fn new() -> Self {
        Self {
            settings: HttpSettings::default(),
            shutdown: CancellationToken::new(),
            authenticator: None,
            resource: None,
            scope_challenges: true,
            is_configured: false,
        }
    }

    /// Sets the [`settings`](Self#structfield.settings) that operators can configure.
    ///
    /// ```
    /// use mcp_aql::HttpOptions;
    /// use mcp_aql::transport::HttpSettings;
    ///
    /// let options = HttpOptions::new()
    ///     .settings(HttpSettings { stateless: true, ..HttpSettings::default() })
    ///     .allow_host("tasks.example.org");
    /// ```
    #[must_use]
    pub fn settings(mut self, settings: HttpSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Accepts this `Host` in addition to loopback, for example `tasks.example.org`, or `tasks.example.org:8443` with a
    /// port.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.settings.allow_hosts.push(host.into());
        self
    }

    /// Accepts web pages of this origin in addition to loopback, for example `https://app.example.org`, or
    /// `https://app.example.org:*` for any port.
    ///
    /// Browsers also need CORS headers. To send them, add a layer to [`Adapter::router`](crate::ServeHttp::router).
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.settings.allow_origins.push(origin.into());
        self
    }

    /// Allows [`Adapter::serve_http`](crate::ServeHttp::serve_http) to listen on an address that other machines can
    /// reach. You must also allow the host names that they use.
    #[must_use]
    pub fn allow_remote(mut self, on: bool) -> Self {
        self.settings.allow_remote = on;
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
        self.settings.insecure_anonymous = on;
        self
    }
}
