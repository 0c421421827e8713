//! A trait without implementations, for better compiler errors.

/// Implemented by no type. Use it for a second implementation that never applies: the compiler then reports the trait
/// itself with its message, not a requirement of the only implementation.
pub trait Unused {}
