//! The table `auth` of the configuration file.

use std::path::Path;
use std::sync::Arc;

use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::{Adapter, BuildError, Error, Result};
use mcp_aql_protocol::is_scope;
use serde::Deserialize;

use super::{Authenticator, StaticTokens};

/// The table `auth` of a configuration file. For example, with tokens given out by the operator:
///
/// ```toml
/// [auth]
/// resource = "https://tasks.example.org/mcp"
///
/// [[auth.tokens]]
/// sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
/// subject = "ada"
/// scopes = ["tasks:read"]
/// ```
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AuthTable {
    /// The URL of the endpoint as clients know it.
    resource: Option<String>,
    /// If `true`, calls without the scope of their operation are answered with 403 and a challenge.
    scope_challenges: Option<bool>,
    #[serde(default)]
    tokens: Vec<TokenTable>,
    #[cfg(feature = "jwt")]
    jwt: Option<super::jwt::JwtTable>,
    #[cfg(not(feature = "jwt"))]
    jwt: Option<serde_json::Value>,
}

/// Returns `true` if the string is an HTTP URL and can be quoted in a header.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && rest.bytes().all(|each| each.is_ascii_graphic() && !b"\"\\".contains(&each))
    })
}

/// A token given out by the operator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenTable {
    sha256: String,
    subject: String,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    claims: serde_json::Map<String, serde_json::Value>,
}

/// The authentication settings in an adapter's configuration file.
pub(crate) struct Configured {
    /// The authenticator. `None` if the program has its own.
    pub(crate) authenticator: Option<Arc<dyn Authenticator>>,
    pub(crate) resource: Option<String>,
    pub(crate) scope_challenges: Option<bool>,
}

/// Reads the table `auth` of the configuration file, if there is one. If the program has its own authenticator, the one
/// in the table is ignored.
///
/// # Errors
///
/// Returns [`Error::Build`] if the table is invalid, as for all other tables.
pub(crate) fn configured(adapter: &Adapter, has_authenticator: bool) -> Result<Option<Configured>> {
    read(adapter, has_authenticator).map_err(|error| match error {
        Error::Usage(problem) => BuildError::of(problem).into(),
        other => other,
    })
}

fn read(adapter: &Adapter, has_authenticator: bool) -> Result<Option<Configured>> {
    let Some((table, folder)) = &adapter.settings().auth else { return Ok(None) };
    let fault =
        |problem: String| Error::Usage(format!("the table `auth` of the configuration: {problem}"));
    let table = AuthTable::deserialize(table).map_err(|error| fault(error.to_string()))?;
    if table.resource.as_deref().is_some_and(|url| !is_url(url)) {
        return Err(fault("`resource` is not a URL with http:// or https://".to_owned()));
    }
    let (resource, scope_challenges) = (table.resource, table.scope_challenges);
    if has_authenticator {
        return Ok(Some(Configured { authenticator: None, resource, scope_challenges }));
    }
    let authenticator: Arc<dyn Authenticator> = match (table.jwt, table.tokens) {
        (Some(jwt), tokens) if tokens.is_empty() => jwt_authenticator(jwt, folder)?,
        (None, tokens) if !tokens.is_empty() => Arc::new(static_tokens(tokens)?),
        (Some(_), _) => {
            return Err(fault("it has both `jwt` and `tokens`: leave one of them out".to_owned()));
        }
        (None, _) => {
            return Err(fault(
                "it configures no authentication: write `[auth.jwt]` or `[[auth.tokens]]`"
                    .to_owned(),
            ));
        }
    };
    Ok(Some(Configured { authenticator: Some(authenticator), resource, scope_challenges }))
}

fn static_tokens(tables: Vec<TokenTable>) -> Result<StaticTokens> {
    tables.into_iter().try_fold(StaticTokens::new(), |tokens, table| {
        let TokenTable { sha256, subject, scopes, claims } = table;
        if subject.is_empty() {
            return Err(Error::Usage("a token of the configuration has an empty `subject`".to_owned()));
        }
        if let Some(scope) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(Error::Usage(format!(
                "'{scope}' of the configuration is not one scope: write each scope in quotes of its own"
            )));
        }
        let principal = Principal::new("operator", &subject).with_scopes(scopes);
        let principal = claims
            .into_iter()
            .fold(principal, |principal, (name, value)| principal.with_claim(name, value));
        tokens.hashed(&sha256, principal)
    })
}

#[cfg(feature = "jwt")]
fn jwt_authenticator(table: super::jwt::JwtTable, folder: &Path) -> Result<Arc<dyn Authenticator>> {
    Ok(Arc::new(table.authenticator(folder)?))
}

#[cfg(not(feature = "jwt"))]
fn jwt_authenticator(_table: serde_json::Value, _folder: &Path) -> Result<Arc<dyn Authenticator>> {
    Err(Error::Usage(
        "`[auth.jwt]` in the configuration requires the feature `jwt` of mcp-aql".to_owned(),
    ))
}
