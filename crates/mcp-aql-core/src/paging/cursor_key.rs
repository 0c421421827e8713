//! The secret key of cursors, and the checksum computed with it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac_sha256::Hash;

use crate::caller::principal::Principal;

/// The secret key that authenticates cursors. It prevents clients from constructing cursors, and from using them for
/// another list.
///
/// An adapter without a configured key generates a random one on every start, and therefore rejects cursors of
/// earlier runs.
#[derive(Clone)]
pub struct CursorKey(Arc<[u8; 16]>);

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CursorKey")
    }
}

impl CursorKey {
    /// Creates a key from 16 secret bytes. Use this if your cursors must stay valid after a restart, or in several
    /// processes.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(Arc::new(bytes))
    }

    /// Generates a random key. It is valid until the process ends.
    pub fn random() -> Self {
        Self::new(uuid::Uuid::new_v4().into_bytes())
    }

    /// Returns the key of one caller's cursors. A cursor created for a principal is then invalid for every other
    /// caller, in all processes with the same key. Built-in lists and queries already do this for their callers.
    ///
    /// ```
    /// use mcp_aql::auth::Principal;
    /// use mcp_aql::query::CursorKey;
    ///
    /// let key = CursorKey::new([7; 16]);
    /// let _ada = key.for_principal(&Principal::new("https://login.example.org", "ada"));
    /// ```
    #[must_use]
    pub fn for_principal(&self, principal: &Principal) -> Self {
        let mut hash = Hash::new();
        hash.update(*self.0);
        // Separates this key from tags: the purpose of a cursor never has this length.
        hash.update(u64::MAX.to_le_bytes());
        hash.update(&*principal.identity());
        let mut key = [0; 16];
        key.iter_mut().zip(hash.finalize()).for_each(|(byte, hashed)| *byte = hashed);
        Self::new(key)
    }

    /// Encodes a position as a cursor. `purpose` names the list and its order.
    #[doc(hidden)]
    pub fn seal(&self, purpose: &str, payload: &[u8]) -> String {
        let mut bytes = Vec::with_capacity(payload.len() + TAG_BYTES);
        bytes.extend_from_slice(payload);
        bytes.extend_from_slice(&self.tag(purpose, payload));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes a cursor created by [`seal`](Self::seal) for the same purpose. Returns `None` for any other string.
    #[doc(hidden)]
    pub fn open(&self, purpose: &str, text: &str) -> Option<Vec<u8>> {
        let mut bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let tag = bytes.split_off(bytes.len().checked_sub(TAG_BYTES)?);
        (tag == self.tag(purpose, &bytes)).then_some(bytes)
    }

    /// Computes the checksum. A truncated SHA-256 with a secret prefix of fixed length is a MAC: an attacker who
    /// extends the input would need the truncated part.
    fn tag(&self, purpose: &str, payload: &[u8]) -> [u8; TAG_BYTES] {
        let mut hash = Hash::new();
        hash.update(*self.0);
        // The length separates the purpose from the payload.
        hash.update((purpose.len() as u64).to_le_bytes());
        hash.update(purpose);
        hash.update(payload);
        let mut tag = [0; TAG_BYTES];
        tag.iter_mut().zip(hash.finalize()).for_each(|(byte, hashed)| *byte = hashed);
        tag
    }
}

/// Length of the checksum in bytes.
const TAG_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::CursorKey;
    use crate::caller::principal::Principal;

    #[test]
    fn a_cursor_is_valid_for_its_principal_in_every_process() {
        // REQ-PAG-10
        let (key, other_process) = (CursorKey::new([7; 16]), CursorKey::new([7; 16]));
        let ada = Principal::new("issuer", "ada");
        let cursor = key.for_principal(&ada).seal("tasks", b"3");
        let same = other_process.for_principal(&ada.clone().with_scopes(["tasks:read"]));
        assert_eq!(same.open("tasks", &cursor).as_deref(), Some(&b"3"[..]));
        for other in [
            key.for_principal(&Principal::new("issuer", "bo")),
            key.for_principal(&Principal::new("other", "ada")),
            key.for_principal(&Principal::new("issuer", "")),
            CursorKey::new([8; 16]).for_principal(&ada),
            key.clone(),
        ] {
            assert_eq!(other.open("tasks", &cursor), None);
        }
        assert_eq!(key.for_principal(&ada).open("tasks", &key.seal("tasks", b"3")), None);
    }
}
