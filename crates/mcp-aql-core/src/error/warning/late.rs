//! Warnings that are known once the reply is written.

use std::fmt;

use super::Warning;

/// A warning that is known once the reply is written.
pub trait LateWarning: fmt::Debug + Send + Sync {
    /// Returns the warning, if there is a reason for one.
    fn warning(&self) -> Option<Warning>;

    /// Returns `true` if writing the reply may still lead to the warning. A reply that has no warnings is written faster.
    fn is_possible(&self) -> bool {
        true
    }
}
