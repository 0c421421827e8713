//! Authentication of HTTP requests: from a bearer token to the principal.

mod config;
#[cfg(feature = "jwt")]
mod jwt;
mod static_tokens;

use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::caller::Principal;

pub(crate) use self::config::{Configured, configured};
#[cfg(feature = "jwt")]
pub use self::jwt::{Algorithm, JwtAuthenticator, JwtOptions, KeySource};
pub use self::static_tokens::StaticTokens;

/// Determines the principal of an HTTP request from its bearer token.
///
/// Pass it to [`HttpOptions::authenticator`](crate::HttpOptions::authenticator). The token is dropped after the check. It
/// reaches neither operations nor logs.
///
/// ```
/// use mcp_aql::BoxFuture;
/// use mcp_aql::auth::{AuthenticationError, Authenticator, Principal};
///
/// /// Asks a service of the company.
/// struct Directory;
///
/// impl Authenticator for Directory {
///     fn authenticate<'a>(
///         &'a self,
///         token: &'a str,
///     ) -> BoxFuture<'a, Result<Principal, AuthenticationError>> {
///         Box::pin(async move {
///             match token {
///                 "ada-s-token" => Ok(Principal::new("directory", "ada")),
///                 _ => Err(AuthenticationError::invalid("unknown token")),
///             }
///         })
///     }
/// }
/// ```
pub trait Authenticator: Send + Sync + 'static {
    /// Returns the principal that a token belongs to.
    ///
    /// # Errors
    /// If the token is invalid, or cannot be checked at present.
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Principal, AuthenticationError>>;

    /// The URLs of the authorization servers that issue tokens, which clients find in the metadata of the resource
    /// (RFC 9728). Default: none.
    fn authorization_servers(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The reason why a request was not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthenticationError(Reason);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Invalid(&'static str),
    Unavailable,
}

impl AuthenticationError {
    /// The token is invalid. The client receives the reason with status 401. It has printable ASCII characters without
    /// quotes and backslashes; others are removed.
    pub const fn invalid(reason: &'static str) -> Self {
        Self(Reason::Invalid(reason))
    }

    /// Tokens cannot be checked at present. The client receives status 503.
    pub const fn unavailable() -> Self {
        Self(Reason::Unavailable)
    }

    /// The reason for the client; `None` if tokens cannot be checked at present.
    pub fn reason(&self) -> Option<&'static str> {
        match self.0 {
            Reason::Invalid(reason) => Some(reason),
            Reason::Unavailable => None,
        }
    }
}
