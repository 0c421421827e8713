//! Applies the configuration file of an adapter to the options of the HTTP server.

use std::future::ready;

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
    /// The [settings](Self::settings) in the table `http` override these options. The authenticator and the
    /// [resource](Self::resource) in the table `auth` are only used if these options have none.
    ///
    /// The serving functions call this method unless you already have. Call it yourself to override the file: options
    /// that you set afterwards take precedence.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Build`](mcp_aql_core::Error::Build) if the table `auth` of the file is invalid, and
    /// [`Error::Usage`](mcp_aql_core::Error::Usage) if a number of these options is out of range.
    pub fn configured(mut self, adapter: &Adapter) -> Result<Self> {
        let is_first = !std::mem::replace(&mut self.is_configured, true);
        if is_first {
            let configured = adapter.settings();
            self.settings.override_with(&configured.http, &configured.sources);
        }
        self.check_numbers()?;
        let configured = configured(adapter, self.authenticator.is_some())?;
        if let Some(Configured { authenticator, resource, scope_challenges }) = configured {
            self.authenticator = self.authenticator.or(authenticator.map(Shared));
            self.resource = self.resource.or(resource);
            let from_file = scope_challenges.filter(|_| is_first);
            self.scope_challenges = from_file.unwrap_or(self.scope_challenges);
        }
        Ok(self)
    }

    /// Applies the configuration file like [`configured`](Self::configured), for a router. Building a router cannot
    /// fail, so every request is answered with 503 if the table `auth` or a number is invalid.
    pub(super) fn configured_or_closed(self, adapter: &Adapter) -> Self {
        self.clone().configured(adapter).unwrap_or_else(|error| {
            tracing::error!(%error, "no request can be answered");
            self.authenticator(Closed)
        })
    }
}
