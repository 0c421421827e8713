//! Several operations in one call.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
