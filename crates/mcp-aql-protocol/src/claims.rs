//! The claims of a token that are not part of its caller's identity.

/// The claims that differ between the tokens of one identity: those of the token itself, those of the sign-in, and the
/// scopes, which every call checks.
const CHANGING_CLAIMS: [&str; 22] = [
    "acr",
    "aio",
    "amr",
    "at_hash",
    "auth_time",
    "c_hash",
    "event_id",
    "exp",
    "iat",
    "idp_access_token",
    "jti",
    "nbf",
    "nonce",
    "origin_jti",
    "rh",
    "s_hash",
    "scope",
    "scp",
    "session_state",
    "sid",
    "updated_at",
    "uti",
];

/// Returns `true` if a claim may differ between the tokens of one identity, for example because it belongs to the
/// sign-in.
///
/// Everything that belongs to a caller is bound to all other claims. An operation that selects data by a changing claim
/// would show the data of one token to another, so `#[param(from_claim = …)]` rejects these claims.
///
/// ```
/// use mcp_aql_protocol::is_changing_claim;
///
/// assert!(is_changing_claim("exp"));
/// assert!(!is_changing_claim("client_id") && !is_changing_claim("tenant"));
/// ```
pub fn is_changing_claim(name: &str) -> bool {
    CHANGING_CLAIMS.contains(&name)
}
