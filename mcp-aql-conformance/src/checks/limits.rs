//! How much is too much.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
