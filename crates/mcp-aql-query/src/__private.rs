//! What generated code needs and nobody else: not part of the public interface.

pub use mcp_aql_core::__private::*;

/// What derived tables of resources need.
pub mod column {
    pub use crate::column::*;
}

/// Stops the build when a computed field is called like a stored one.
#[track_caller]
pub const fn check_computed<T: crate::ComputedFields>(name: &str, message: &str) {
    assert!(!T::RESOURCE.has_field(name), "{}", message);
}

/// Stops the build when a field cannot be what its marks say, with a message that can name it.
#[track_caller]
pub const fn check_mark(fits: bool, message: &str) {
    assert!(fits, "{}", message);
}
