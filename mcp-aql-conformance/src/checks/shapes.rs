//! The form of every result.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
