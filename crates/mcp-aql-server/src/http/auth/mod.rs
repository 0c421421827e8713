//! Authentication of HTTP requests: determines the principal from a bearer token.

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
/// Implement this trait to check tokens with your own service, and pass the implementation to
/// [`HttpOptions::authenticator`](crate::HttpOptions::authenticator). The token is dropped after the check, so neither
/// operations nor logs contain it.
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
    /// Returns the principal of a token.
    ///
    /// # Errors
    ///
    /// Returns an error if the token is invalid, or if it cannot be checked at present.
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Principal, AuthenticationError>>;

    /// Returns the URLs of the authorization servers that issue tokens. Clients find them in the metadata of the
    /// resource (RFC 9728). Default: none.
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
    /// Creates the error for an invalid token. The client receives the reason with status 401. Use printable ASCII
    /// characters without quotes and backslashes in it; all others are removed.
    pub const fn invalid(reason: &'static str) -> Self {
        Self(Reason::Invalid(reason))
    }

    /// Creates the error for a token that cannot be checked at present. The client receives status 503. Return it if
    /// you cannot reach the service that checks tokens.
    pub const fn unavailable() -> Self {
        Self(Reason::Unavailable)
    }

    /// Returns the reason to send to the client, or `None` if tokens cannot be checked at present.
    pub fn reason(&self) -> Option<&'static str> {
        match self.0 {
            Reason::Invalid(reason) => Some(reason),
            Reason::Unavailable => None,
        }
    }
}
