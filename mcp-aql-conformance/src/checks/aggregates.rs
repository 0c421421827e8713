//! Sums and counts against our own.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
