//! Authentication with a fixed list of tokens given out by the operator.

use std::fmt;

use hmac_sha256::Hash;
use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::caller::Principal;
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use super::{AuthenticationError, Authenticator};

/// A list of tokens given out by the operator, each with its principal.
///
/// Only the SHA-256 hashes of the tokens are stored, and checking a token takes constant time. The hashes are not
/// salted, so generate long random tokens: 32 random bytes, for example with `openssl rand -hex 32`.
///
/// ```
/// use mcp_aql::auth::{Principal, StaticTokens};
///
/// # fn main() -> mcp_aql::Result<()> {
/// // printf %s "$TOKEN" | sha256sum
/// let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
/// let ada = Principal::new("operator", "ada").with_scopes(["tasks:read"]);
/// let tokens = StaticTokens::new().hashed(hash, ada)?;
/// # let _ = tokens;
/// # Ok(()) }
/// ```
#[derive(Default)]
pub struct StaticTokens {
    tokens: Vec<([u8; 32], Principal)>,
}

impl StaticTokens {
    /// Creates an empty list. It accepts no token.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts the token with this SHA-256 hash, given as 64 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`](mcp_aql_core::Error::Usage) if the hash has another format.
    pub fn hashed(mut self, hash: &str, principal: Principal) -> mcp_aql_core::Result<Self> {
        let hash = decode_hex(hash).ok_or_else(|| {
            mcp_aql_core::Error::Usage(
                "the hash of a token is not 64 hexadecimal digits: write its SHA-256".to_owned(),
            )
        })?;
        self.tokens.push((hash, principal));
        Ok(self)
    }

    /// Accepts this token. Only its hash is stored. If you do not want the token itself in your program, call
    /// [`hashed`](Self::hashed) instead.
    #[must_use]
    pub fn token(mut self, token: &str, principal: Principal) -> Self {
        self.tokens.push((Hash::hash(token.as_bytes()), principal));
        self
    }
}

impl Authenticator for StaticTokens {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Principal, AuthenticationError>> {
        let hash = Hash::hash(token.as_bytes());
        // Compare with all hashes, so that the duration reveals nothing about them.
        let mut found = Choice::from(0);
        let mut place = 0_u64;
        for (index, (known, _)) in (0_u64..).zip(&self.tokens) {
            let equal = known.ct_eq(&hash);
            place.conditional_assign(&index, equal);
            found |= equal;
        }
        let principal = usize::try_from(place).ok().and_then(|place| self.tokens.get(place));
        let principal = principal.filter(|_| bool::from(found)).map(|(_, it)| it.clone());
        let invalid = AuthenticationError::invalid("the token is not known");
        Box::pin(std::future::ready(principal.ok_or(invalid)))
    }
}

/// Formats only the number of tokens, because hashes must not appear in logs.
impl fmt::Debug for StaticTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StaticTokens").field("count", &self.tokens.len()).finish()
    }
}

fn decode_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok().filter(|it| !it.starts_with('+'))?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_known_tokens_are_accepted() {
        let named = |name| Principal::new("operator", name);
        let hash = "2C26B46B68FFC68FF99B453C1D30413413422D706483BFA0F98A5E886266E7AE";
        let tokens = StaticTokens::new().token("bar", named("ada")).hashed(hash, named("eve"));
        let tokens = tokens.unwrap();
        assert_eq!(tokens.authenticate("bar").await, Ok(named("ada")));
        assert_eq!(tokens.authenticate("foo").await, Ok(named("eve")));
        for unknown in ["", "ba", "barr", hash] {
            assert!(tokens.authenticate(unknown).await.is_err(), "{unknown}");
        }
        assert!(StaticTokens::new().authenticate("").await.is_err());
        for invalid in ["", "00", &hash.replace("2C", "+C"), &format!("{hash}0")] {
            assert!(StaticTokens::new().hashed(invalid, named("x")).is_err(), "{invalid}");
        }
        assert_eq!(format!("{tokens:?}"), "StaticTokens { count: 2 }");
    }
}
