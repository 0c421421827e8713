//! Warnings only known after the reply was written.

use std::fmt;

use super::Warning;

/// A warning only known after the reply was written, for example about paths that no row has.
pub trait LateWarning: fmt::Debug + Send + Sync {
    /// Returns the warning, or `None` if the reply gives no reason for one.
    fn warning(&self) -> Option<Warning>;

    /// Returns `true` if writing the reply can still cause the warning. A reply without warnings is written faster.
    fn is_possible(&self) -> bool {
        true
    }
}
