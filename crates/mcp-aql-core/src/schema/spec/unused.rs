//! A trait without implementations.

/// Implemented by no type. A second implementation that never applies makes the compiler report the
/// trait itself with its message, not a requirement of the only implementation.
pub trait Unused {}
