//! The authenticated caller.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use mcp_aql_protocol::is_changing_claim;
use serde_json::{Map, Value, json};

use crate::vocab::digest;

/// The authenticated caller of an operation, with its scopes and claims.
///
/// An authenticator of the HTTP server, or the middleware of your own server, attaches it to each request. Read it in
/// an operation with [`Context::principal`](crate::Context::principal).
///
/// Two principals are equal if issuer and subject are equal. Sessions, executions, cursors and confirmation tokens
/// belong to its [`identity`](Self::identity). The identity includes the claims, because a subject may act for
/// several tenants and must not use the sessions of one for another.
///
/// ```
/// use mcp_aql::auth::Principal;
///
/// let ada = Principal::new("https://login.example.org", "ada")
///     .with_scopes(["tasks:read", "tasks:create"])
///     .with_claim("tenant", "north");
/// assert!(ada.has_scope("tasks:read") && !ada.has_scope("tasks:delete"));
/// assert_eq!(ada.claim("tenant").and_then(|tenant| tenant.as_str()), Some("north"));
/// ```
///
/// The debug output contains issuer and subject, but no claims.
#[derive(Clone)]
pub struct Principal(Arc<PrincipalData>);

#[derive(Clone)]
struct PrincipalData {
    /// Issuer and subject, separated by a space.
    id: String,
    issuer_length: usize,
    scopes: BTreeSet<String>,
    claims: Map<String, Value>,
    /// Digest of the lasting claims, computed when it is first needed. `None` if there are none.
    claims_digest: OnceLock<Option<Box<str>>>,
    /// The account, computed when it is first needed.
    account: OnceLock<Box<str>>,
}

impl Principal {
    /// Creates a principal without scopes and claims.
    ///
    /// The issuer vouches for the subject. It is usually the URL of an authorization server. White space in it is
    /// replaced by `-`, because a space separates it from the subject.
    pub fn new(issuer: &str, subject: &str) -> Self {
        let issuer = issuer.replace(char::is_whitespace, "-");
        let (id, issuer_length) = (format!("{issuer} {subject}"), issuer.len());
        let (scopes, claims, claims_digest, account) = Default::default();
        Self(Arc::new(PrincipalData { id, issuer_length, scopes, claims, claims_digest, account }))
    }

    /// Adds scopes.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        Arc::make_mut(&mut self.0).scopes.extend(scopes.into_iter().map(Into::into));
        self
    }

    /// Adds a claim. Your operations read it with [`claim`](Self::claim).
    #[must_use]
    pub fn with_claim(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let parts = Arc::make_mut(&mut self.0);
        parts.claims.insert(name.into(), value.into());
        (parts.claims_digest, parts.account) = Default::default();
        self
    }

    /// Returns the issuer. It vouches for the subject.
    pub fn issuer(&self) -> &str {
        self.0.id.get(..self.0.issuer_length).unwrap_or_default()
    }

    /// Returns the name of the caller. It is unique for its issuer.
    pub fn subject(&self) -> &str {
        self.0.id.get(self.0.issuer_length + 1..).unwrap_or_default()
    }

    /// Returns the issuer and the subject, separated by a space. This string identifies the principal in stores and
    /// in the audit log.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Returns the digest of all claims, except those that differ between the tokens of one identity. Returns `None`
    /// if there are no such claims.
    pub(crate) fn claims_digest(&self) -> Option<&str> {
        let compute = || {
            let lasting = |(name, _): &(&String, &Value)| !is_changing_claim(name);
            let claims: BTreeMap<_, _> = self.0.claims.iter().filter(lasting).collect();
            (!claims.is_empty()).then(|| digest(json!(claims).to_string().as_bytes()).into())
        };
        self.0.claims_digest.get_or_init(compute).as_deref()
    }

    /// Returns the identity that owns sessions, executions and cursors. It consists of the [`id`](Self::id) and a
    /// digest of the lasting claims. Claims that differ between the tokens of one sign-in, such as `exp` and `jti`,
    /// are not part of it.
    #[doc(hidden)]
    pub fn identity(&self) -> Cow<'_, str> {
        match self.claims_digest() {
            Some(claims) => Cow::Owned(format!("{} {claims}", self.id())),
            None => Cow::Borrowed(self.id()),
        }
    }

    /// Returns a digest of the [`identity`](Self::identity) with a fixed length. Use it in keys and groups of a store,
    /// whose length is limited, because a subject can have any length.
    pub(crate) fn account(&self) -> &str {
        self.0.account.get_or_init(|| {
            let hash = digest(self.identity().as_bytes());
            format!("u-{}", hash.get(..32).unwrap_or_default()).into()
        })
    }

    /// Returns the scopes in alphabetical order.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.0.scopes.iter().map(String::as_str)
    }

    /// Returns `true` if the principal has this scope. You rarely need this, because the adapter checks the scope that
    /// an operation declares.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.0.scopes.contains(scope)
    }

    /// Returns the value of a claim.
    pub fn claim(&self, name: &str) -> Option<&Value> {
        self.0.claims.get(name)
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Principal {}

impl fmt::Debug for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Principal")
            .field("issuer", &self.issuer())
            .field("subject", &self.subject())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuer_and_subject_identify_a_principal() {
        let ada = Principal::new("a", "b c");
        assert_eq!((ada.issuer(), ada.subject()), ("a", "b c"));
        assert_ne!(ada, Principal::new("a b", "c"));
        assert_eq!(ada, Principal::new("a", "b c").with_scopes(["x"]));
        let odd = Principal::new("", "");
        assert_eq!((odd.issuer(), odd.subject()), ("", ""));
    }

    #[test]
    fn lasting_claims_are_part_of_the_identity() {
        let ada = Principal::new("a", "b");
        assert_eq!(ada.identity(), "a b");
        let again = ada.clone().with_claim("exp", 7).with_claim("jti", "x").with_claim("sid", "y");
        assert_eq!(again.identity(), "a b");
        let north = again.with_claim("tenant", "north");
        let south = north.clone().with_claim("tenant", "south");
        assert_eq!(north.identity(), north.clone().with_claim("exp", 8).identity());
        assert_ne!(north.identity(), south.identity());
        assert!(north.identity().starts_with("a b ") && !north.identity().contains("north"));
        assert_eq!(north, south, "the subject is the same");
    }

    #[test]
    fn an_account_has_a_fixed_length_and_one_identity() {
        let ada = Principal::new("issuer", &"a".repeat(1_000));
        let north = ada.clone().with_claim("tenant", "north");
        assert_eq!((ada.account().len(), north.account().len()), (34, 34));
        assert_ne!(ada.account(), north.account());
        assert_eq!(north.account(), north.clone().with_claim("exp", 8).account());
    }

    #[test]
    fn only_claims_of_a_token_and_of_its_sign_in_may_change() {
        // The claims that IANA has registered for JSON Web Tokens and that large authorization servers add.
        const CHANGING: &str = "exp nbf iat jti auth_time nonce acr amr at_hash c_hash s_hash sid scope scp \
             session_state updated_at event_id origin_jti aio rh uti idp_access_token";
        const LASTING: &str = "iss sub aud client_id cid azp appid wids tid tenant tenant_id org org_id org_name \
             oid act may_act sub_jwk cnf azpacr appidacr idp idtyp typ ver roles groups entitlements permissions \
             realm_access resource_access token_use username cognito:groups gty hd email email_verified name \
             given_name family_name middle_name nickname preferred_username profile picture website gender \
             birthdate zoneinfo locale phone_number phone_number_verified address unknown";
        let ada = Principal::new("a", "b").with_claim("tenant_name", "north");
        let changes = |name: &str| {
            let of = |value: &str| ada.clone().with_claim(name, value);
            let (one, other) = (of("one"), of("other"));
            (one.identity() != other.identity(), one.identity() != ada.identity())
        };
        for name in CHANGING.split_whitespace() {
            assert_eq!(changes(name), (false, false), "{name}");
        }
        for name in LASTING.split_whitespace() {
            assert_eq!(changes(name), (true, true), "{name}");
        }
    }

    #[test]
    fn claims_are_not_printed() {
        let ada = Principal::new("a", "b").with_claim("email", "ada@example.org");
        assert!(!format!("{ada:?}").contains("example"));
    }
}
