//! Which fields come back.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
