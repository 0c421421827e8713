//! The authenticator of the configuration file.

use std::sync::Arc;

use mcp_aql_core::adapter::Adapter;
use mcp_aql_core::main_error::{Error, Result};
use mcp_aql_core::principal::Principal;
use serde::Deserialize;

use super::{Authenticator, StaticTokens};

/// The table `auth` of a configuration file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AuthTable {
    /// The URL of the endpoint as clients write it.
    resource: Option<String>,
    #[serde(default)]
    tokens: Vec<TokenTable>,
    #[cfg(feature = "jwt")]
    jwt: Option<super::jwt::JwtTable>,
    #[cfg(not(feature = "jwt"))]
    jwt: Option<serde_json::Value>,
}

/// A token that the operator has given out.
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

/// The settings of authentication that the configuration file of an adapter has.
pub(crate) struct Configured {
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) resource: Option<String>,
}

/// Reads the table `auth` of the configuration file, if there is one.
pub(crate) fn configured(adapter: &Adapter) -> Result<Option<Configured>> {
    let Some(table) = &adapter.settings().auth else { return Ok(None) };
    let fault =
        |problem: String| Error::Usage(format!("the table `auth` of the configuration: {problem}"));
    let table = AuthTable::deserialize(table).map_err(|error| fault(error.to_string()))?;
    let authenticator: Arc<dyn Authenticator> = match (table.jwt, table.tokens) {
        (Some(jwt), tokens) if tokens.is_empty() => jwt_authenticator(jwt)?,
        (None, tokens) if !tokens.is_empty() => Arc::new(static_tokens(tokens)?),
        (Some(_), _) => {
            return Err(fault("it has both `jwt` and `tokens`: leave one of them out".to_owned()));
        }
        (None, _) => {
            return Err(fault(
                "it names no way to authenticate: write `[auth.jwt]` or `[[auth.tokens]]`"
                    .to_owned(),
            ));
        }
    };
    Ok(Some(Configured { authenticator, resource: table.resource }))
}

fn static_tokens(tables: Vec<TokenTable>) -> Result<StaticTokens> {
    tables.into_iter().try_fold(StaticTokens::new(), |tokens, table| {
        let TokenTable { sha256, subject, scopes, claims } = table;
        let principal = Principal::new("operator", &subject).with_scopes(scopes);
        let principal = claims
            .into_iter()
            .fold(principal, |principal, (name, value)| principal.with_claim(name, value));
        tokens.hashed(&sha256, principal)
    })
}

#[cfg(feature = "jwt")]
fn jwt_authenticator(table: super::jwt::JwtTable) -> Result<Arc<dyn Authenticator>> {
    Ok(Arc::new(table.authenticator()?))
}

#[cfg(not(feature = "jwt"))]
fn jwt_authenticator(_table: serde_json::Value) -> Result<Arc<dyn Authenticator>> {
    Err(Error::Usage(
        "the configuration has `[auth.jwt]`, for which the adapter needs the feature `jwt` of mcp-aql"
            .to_owned(),
    ))
}
