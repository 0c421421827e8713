//! Applies the configuration file of an adapter to the options of the HTTP server.

use std::future::ready;
use std::time::Duration;

use mcp_aql_core::internal::adapter::HttpTable;
use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::{Adapter, BoxFuture, Result};

use super::options::{HttpOptions, Shared};
use crate::auth::{AuthenticationError, Authenticator, Configured, configured};

/// Rejects all callers.
struct Closed;

impl Authenticator for Closed {
    fn authenticate<'a>(
        &'a self,
        _token: &'a str,
    ) -> BoxFuture<'a, std::result::Result<Principal, AuthenticationError>> {
        Box::pin(ready(Err(AuthenticationError::unavailable())))
    }
}

impl HttpOptions {
    /// Applies the adapter's configuration file to these options.
    ///
    /// The settings in the table `http`, except the address, override these options. The authenticator and the
    /// [resource](Self::resource) in the table `auth` are only used if these options have none.
    ///
    /// The serving functions call this method unless you already have. Call it yourself to override the file: options
    /// that you set afterwards take precedence.
    ///
    /// # Errors
    /// Returns [`Error::Build`](mcp_aql_core::Error::Build) if the table `auth` of the file is invalid.
    pub fn configured(mut self, adapter: &Adapter) -> Result<Self> {
        let is_first = !std::mem::replace(&mut self.is_configured, true);
        if is_first {
            self.apply(&adapter.settings().http);
        }
        let configured = configured(adapter, self.authenticator.is_some())?;
        if let Some(Configured { authenticator, resource, scope_challenges }) = configured {
            self.authenticator = self.authenticator.or(authenticator.map(Shared));
            self.resource = self.resource.or(resource);
            let from_file = scope_challenges.filter(|_| is_first);
            self.scope_challenges = from_file.unwrap_or(self.scope_challenges);
        }
        Ok(self)
    }

    fn apply(&mut self, table: &HttpTable) {
        fn set<T>(option: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *option = value;
            }
        }
        self.allowed_hosts.extend(table.allow_hosts.iter().cloned());
        self.allowed_origins.extend(table.allow_origins.iter().cloned());
        set(&mut self.remote, table.allow_remote);
        set(&mut self.insecure_anonymous, table.insecure_anonymous);
        set(&mut self.sessions, table.stateless.map(|stateless| !stateless));
        set(&mut self.max_sessions, table.max_sessions);
        set(&mut self.max_sessions_per_principal, table.max_sessions_per_principal);
        set(&mut self.session_timeout, table.session_timeout_seconds.map(Duration::from_secs));
        set(&mut self.client_timeout, table.client_timeout_seconds.map(Duration::from_secs));
        set(&mut self.max_connections, table.max_connections);
        set(&mut self.stop_delay, table.stop_delay_seconds.map(Duration::from_secs));
        let bytes = |mib: Option<usize>| mib.map(|mib| mib.saturating_mul(1 << 20));
        set(&mut self.max_inflight_bytes, bytes(table.max_inflight_mib));
        let replies = &mut self.replies;
        set(&mut replies.retention, table.reply_retention_seconds.map(Duration::from_secs));
        set(&mut replies.bytes, bytes(table.max_kept_replies_mib));
        set(&mut replies.session_bytes, bytes(table.max_kept_replies_per_session_mib));
    }

    /// Applies the configuration file like [`configured`](Self::configured), for a router. Building a router cannot
    /// fail, so every request is answered with 503 if the table `auth` is invalid.
    pub(super) fn configured_or_closed(self, adapter: &Adapter) -> Self {
        self.clone().configured(adapter).unwrap_or_else(|error| {
            tracing::error!(%error, "no request can be authenticated");
            self.authenticator(Closed)
        })
    }
}
