//! Warnings that are known once the reply is written.

use std::fmt;

use super::Warning;

/// A warning that is known once the reply is written.
pub(crate) trait LateWarning: fmt::Debug + Send + Sync {
    fn warning(&self) -> Option<Warning>;
}
