//! The same adapter with other tools.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
