//! Identifiers, limits and names that every other module may use; these use no other module.

mod json_type;
mod quote;
mod reply_limits;

use std::fmt::Write as _;

use hmac_sha256::Hash;

pub use json_type::json_type;
pub(crate) use quote::count_escapes;
pub use quote::quote;
pub use reply_limits::ReplyForm;
pub(crate) use reply_limits::ReplyLimits;

/// The SHA-256 hash of bytes, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let hash = Hash::hash(bytes);
    hash.iter().fold(String::with_capacity(hash.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A random UUID.
pub fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// A short random identifier for logs and replies, such as `s-1f0c9a7be2d84c11`.
pub fn new_id(prefix: &str) -> String {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The version bits sit in the high half and are constant: fold in the low half.
    let (_, low) = uuid::Uuid::new_v4().as_u64_pair();
    format!("{prefix}-{:016x}", high ^ low.rotate_left(17))
}
