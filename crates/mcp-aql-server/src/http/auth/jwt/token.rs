//! Decodes JSON Web Tokens and checks their claims (RFC 7519, RFC 9068).

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_aql_core::internal::caller::Principal;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::JwtOptions;
use super::key::Algorithm;
use crate::http::auth::AuthenticationError;

/// Maximum length of a token, in bytes.
const MAX_LENGTH: usize = 16 << 10;

/// A decoded token with an unverified signature.
#[derive(Debug)]
pub(super) struct UnverifiedToken<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    /// The signed part of the token: the encoded header and payload.
    pub(super) message: &'a str,
    pub(super) signature: Vec<u8>,
    payload: &'a str,
}

#[derive(serde::Deserialize)]
struct Header {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    /// Extensions that a verifier must support.
    crit: Option<Value>,
}

/// The claims of a token. Each name occurs once: a proxy or gateway that reads the first of two claims would otherwise
/// check another value than this server.
struct Claims(Map<String, Value>);

impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ClaimsVisitor)
    }
}

struct ClaimsVisitor;

impl<'de> Visitor<'de> for ClaimsVisitor {
    type Value = Claims;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with claims")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Claims, A::Error> {
        let mut claims = Map::new();
        while let Some((name, value)) = members.next_entry::<String, Value>()? {
            if claims.insert(name, value).is_some() {
                return Err(de::Error::custom("a claim occurs twice"));
            }
        }
        Ok(Claims(claims))
    }
}

const MALFORMED: AuthenticationError = AuthenticationError::invalid("the token is malformed");

impl<'a> UnverifiedToken<'a> {
    /// Decodes a token signed with one of these algorithms.
    pub(super) fn read(text: &'a str, allowed: &[Algorithm]) -> Result<Self, AuthenticationError> {
        if text.len() > MAX_LENGTH {
            return Err(AuthenticationError::invalid("the token is too long"));
        }
        let (message, signature) = text.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, payload) = message.split_once('.').ok_or(MALFORMED)?;
        if payload.contains('.') {
            return Err(MALFORMED);
        }
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| MALFORMED);
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| MALFORMED)?;
        if header.crit.is_some() {
            let reason = "the token has a critical header that is not supported";
            return Err(AuthenticationError::invalid(reason));
        }
        if let Some(kind) = &header.typ {
            let kind = kind.to_ascii_lowercase();
            let kind = kind.strip_prefix("application/").unwrap_or(&kind);
            if kind != "jwt" && kind != "at+jwt" {
                return Err(AuthenticationError::invalid("the token is not an access token"));
            }
        }
        let algorithm = Algorithm::from_name(&header.alg).filter(|it| allowed.contains(it));
        let algorithm = algorithm.ok_or_else(|| {
            AuthenticationError::invalid(
                "the token is signed with an algorithm that is not allowed",
            )
        })?;
        let signature = decode(signature)?;
        Ok(Self { algorithm, key_id: header.kid, message, signature, payload })
    }

    /// Checks the claims and returns the principal. `now` is in seconds since 1970. Check the signature first.
    ///
    /// ```json
    /// {
    ///   "iss": "https://login.example.org", "aud": "https://tasks.example.org/mcp",
    ///   "sub": "ada", "exp": 1936000000, "scope": "tasks:read"
    /// }
    /// ```
    pub(super) fn principal(
        &self,
        options: &JwtOptions,
        now: f64,
    ) -> Result<Principal, AuthenticationError> {
        let invalid = |reason| Err(AuthenticationError::invalid(reason));
        let payload = URL_SAFE_NO_PAD.decode(self.payload).map_err(|_| MALFORMED)?;
        let Claims(claims) = serde_json::from_slice(&payload).map_err(|_| MALFORMED)?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let leeway = options.leeway.as_secs_f64();
        if text("iss") != Some(options.issuer.as_str()) {
            return invalid("the token is of another issuer");
        }
        let audience = Some(options.audience.as_str());
        let is_meant = match claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == audience),
            one => one.and_then(Value::as_str) == audience,
        };
        if !is_meant {
            return invalid("the token is for another audience");
        }
        match claims.get("exp").and_then(Value::as_f64) {
            None => return invalid("the token has no expiry"),
            Some(expiry) if now >= expiry + leeway => return invalid("the token has expired"),
            Some(_) => {}
        }
        for name in ["nbf", "iat"] {
            match claims.get(name).map(Value::as_f64) {
                Some(None) => return Err(MALFORMED),
                Some(Some(from)) if now + leeway < from => {
                    return invalid("the token is not valid yet");
                }
                _ => {}
            }
        }
        let Some(subject) = text("sub").filter(|subject| !subject.is_empty()) else {
            return invalid("the token has no subject");
        };
        let scopes =
            options.scope_claims.iter().filter_map(|name| claims.get(name)).flat_map(scopes);
        let principal =
            Principal::new(&options.issuer, subject).with_scopes(scopes.collect::<BTreeSet<_>>());
        Ok(claims.into_iter().fold(principal, |it, (name, value)| it.with_claim(name, value)))
    }
}

/// Returns the scopes in a claim, either a space-separated string or a list.
fn scopes(claim: &Value) -> Vec<String> {
    match claim {
        Value::String(text) => {
            text.split(' ').filter(|it| !it.is_empty()).map(str::to_owned).collect()
        }
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}
