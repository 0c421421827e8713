//! Generates, recognizes and masks the strings of tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::error::OperationError;
use crate::vocab::digest;

/// The purpose of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TokenKind {
    /// Runs a dangerous operation.
    Confirmation,
    /// Runs a dangerous operation after the user of a client has accepted a question.
    Question,
    /// Runs a call during a pause of a quota.
    QuotaContinue,
}

impl TokenKind {
    const ALL: [Self; 3] = [Self::Confirmation, Self::Question, Self::QuotaContinue];

    const fn prefix(self) -> &'static str {
        match self {
            Self::Confirmation => "conf_",
            Self::Question => "question_",
            Self::QuotaContinue => "quota_continue_",
        }
    }
}

/// Shortens a token for errors, because errors are stored in logs and transcripts. The result identifies the token but
/// cannot be used as one.
///
/// ```text
/// conf_AbCdEfGh… → conf_AbCd…
/// ```
pub(super) fn mask_token(token: &str) -> String {
    const VISIBLE_CHARS: usize = 4;
    let prefix =
        TokenKind::ALL.map(TokenKind::prefix).into_iter().find(|kind| token.starts_with(kind));
    let maximum = prefix.map_or(0, str::len) + VISIBLE_CHARS;
    match token.char_indices().nth(maximum) {
        Some((end, _)) => format!("{}…", token.get(..end).unwrap_or_default()),
        None => token.to_owned(),
    }
}

/// Returns the id of a token in the audit log: the first 64 bits of its hash. Unknown tokens have an id too. Other
/// strings are not hashed, because they may be secrets with fewer than 256 random bits. The hash of such a secret could
/// be used to guess it.
pub(crate) fn audit_id(token: &str) -> String {
    match digest(token.as_bytes()).get(..16) {
        Some(hash) if TokenKind::ALL.iter().any(|kind| has_form(token, *kind)) => {
            format!("t-{hash}")
        }
        _ => "malformed".to_owned(),
    }
}

/// Generates a token: the prefix of its kind, and 256 random bits in base64url (REQ-TOK-01, REQ-TOK-02).
pub(super) fn random_token(kind: TokenKind) -> Result<String, OperationError> {
    Ok(format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(random_bits()?)))
}

/// Generates 256 bits with the system's random number generator.
pub(crate) fn random_bits() -> Result<[u8; 32], OperationError> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits)
        .map_err(|error| OperationError::internal(format!("no random bits: {error}")))?;
    Ok(bits)
}

/// Returns `true` if a string has the format of a token of this kind (REQ-TOK-01).
pub(super) fn has_form(token: &str, kind: TokenKind) -> bool {
    let body = token.strip_prefix(kind.prefix());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (8..=80).contains(&token.len())
        && body.is_some_and(|body| (1..=64).contains(&body.len()) && body.bytes().all(plain))
}
