//! Authentication with JSON Web Tokens (JWT) of an authorization server.

mod key;
mod key_source;
#[cfg(test)]
mod tests;
mod token;

use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_aql_core::internal::caller::Principal;
use mcp_aql_core::internal::config::SettingPath;
use mcp_aql_core::internal::util::clock::TimeSource;
use mcp_aql_core::{BoxFuture, Error, Result};
use serde::Deserialize;

pub use self::key::Algorithm;
pub use self::key_source::KeySource;
use self::key_source::Keys;
use self::token::UnverifiedToken;
use super::{AuthenticationError, Authenticator};

/// Accepts the JSON Web Tokens of one issuer for one audience.
///
/// The authenticator checks the signature, the issuer, the audience, the expiry and the start of validity. Only
/// asymmetric algorithms are supported, and each key is only used with algorithms of its type. Keys are cached;
/// [`KeySource`] determines where they come from. While no keys can be fetched, clients receive status 503.
///
/// Signatures are checked with `ring`. The crate jsonwebtoken is not used, because its cryptography is a setting of the
/// whole process, and a library must not change that.
///
/// ```
/// use mcp_aql::auth::{JwtAuthenticator, JwtOptions, KeySource};
///
/// # fn main() -> mcp_aql::Result<()> {
/// let keys = KeySource::url("https://login.example.org/keys.json")?;
/// let options = JwtOptions::new("https://login.example.org", "https://tasks.example.org/mcp");
/// let authenticator = JwtAuthenticator::new(keys, options);
/// # let _ = authenticator;
/// # Ok(()) }
/// ```
///
/// Source: RFC 7519, RFC 8725, RFC 9068.
#[derive(Debug)]
pub struct JwtAuthenticator {
    options: JwtOptions,
    keys: Keys,
}

/// The settings of a [`JwtAuthenticator`].
#[derive(Debug, Clone)]
pub struct JwtOptions {
    issuer: String,
    audience: String,
    algorithms: Vec<Algorithm>,
    scope_claims: Vec<String>,
    leeway: Duration,
    max_key_age: Duration,
    time: TimeSource,
}

impl JwtOptions {
    /// Accepts tokens with exactly this issuer (`iss`) and this audience (`aud`). The audience is usually the URL of
    /// your endpoint.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audience: audience.into(),
            algorithms: vec![Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA],
            scope_claims: vec!["scope".to_owned(), "scp".to_owned()],
            leeway: Duration::from_secs(30),
            max_key_age: Duration::from_secs(10 * 60),
            time: TimeSource::default(),
        }
    }

    /// Sets the accepted algorithms. Default: RS256, ES256 and EdDSA. You need this only if your authorization server
    /// signs with another algorithm.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Sets the claims that contain scopes, either as a space-separated string or as a list. Default: `scope` and
    /// `scp`.
    #[must_use]
    pub fn scope_claims<S: Into<String>>(mut self, claims: impl IntoIterator<Item = S>) -> Self {
        self.scope_claims = claims.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the tolerated difference between the clocks of the issuer and the adapter. Default: 30 seconds.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Sets the age at which keys are fetched again. Afterwards, keys withdrawn by the issuer are no longer accepted.
    /// Default: 10 minutes. If fetching fails, the old keys are used for another hour.
    #[must_use]
    pub fn max_key_age(mut self, age: Duration) -> Self {
        self.max_key_age = age;
        self
    }

    /// Sets the source of the current time. Use this in tests.
    #[must_use]
    pub fn time_source(mut self, time: TimeSource) -> Self {
        self.time = time;
        self
    }
}

impl JwtAuthenticator {
    /// Creates an authenticator. It fetches the keys when it checks the first token.
    pub fn new(keys: KeySource, options: JwtOptions) -> Self {
        let keys = Keys::new(keys, options.max_key_age);
        Self { options, keys }
    }

    async fn check(&self, text: &str) -> std::result::Result<Principal, AuthenticationError> {
        let token = UnverifiedToken::read(text, &self.options.algorithms)?;
        let (key_id, message) = (token.key_id.as_deref(), token.message.as_bytes());
        if !self.keys.verify(token.algorithm, key_id, message, &token.signature).await? {
            return Err(AuthenticationError::invalid("the signature of the token is wrong"));
        }
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of the next millennia fit")]
        let now = self.options.time.now().timestamp_millis() as f64 / 1_000.0;
        token.principal(&self.options, now)
    }
}

impl Authenticator for JwtAuthenticator {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, std::result::Result<Principal, AuthenticationError>> {
        Box::pin(self.check(token))
    }

    fn authorization_servers(&self) -> Vec<String> {
        vec![self.options.issuer.clone()]
    }
}

/// The table `auth.jwt` of a configuration file.
///
/// ```toml
/// [auth.jwt]
/// issuer = "https://login.example.org"
/// audience = "https://tasks.example.org/mcp"
/// keys_url = "https://login.example.org/keys.json"
/// ```
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JwtTable {
    issuer: String,
    audience: String,
    keys_url: Option<String>,
    keys_file: Option<PathBuf>,
    algorithms: Option<Vec<Algorithm>>,
    scope_claims: Option<Vec<String>>,
    leeway_seconds: Option<u64>,
    max_key_age_seconds: Option<u64>,
}

impl JwtTable {
    /// Creates the authenticator. A relative path of a key file is resolved against `folder`.
    pub(super) fn authenticator(self, folder: &Path) -> Result<JwtAuthenticator> {
        let keys = match (self.keys_url, self.keys_file) {
            (Some(url), None) => KeySource::url(&url)?,
            (None, Some(path)) => KeySource::checked_file(SettingPath::new(folder, path))?,
            _ => {
                return Err(Error::Usage(
                    "`auth.jwt` needs either `keys_url` or `keys_file` in the configuration"
                        .to_owned(),
                ));
            }
        };
        let mut options = JwtOptions::new(self.issuer, self.audience);
        if let Some(algorithms) = self.algorithms {
            options = options.algorithms(algorithms);
        }
        if let Some(claims) = self.scope_claims {
            options = options.scope_claims(claims);
        }
        if let Some(seconds) = self.leeway_seconds {
            options = options.leeway(Duration::from_secs(seconds));
        }
        if let Some(seconds) = self.max_key_age_seconds {
            options = options.max_key_age(Duration::from_secs(seconds));
        }
        Ok(JwtAuthenticator::new(keys, options))
    }
}
