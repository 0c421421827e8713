//! Identifiers, limits and names that every other module may use; these use no other module.

mod json_type;
mod quote;
mod reply_limits;

pub use json_type::json_type;
pub(crate) use quote::count_escapes;
pub use quote::quote;
pub use reply_limits::ReplyForm;
pub(crate) use reply_limits::ReplyLimits;

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
