//! Danger and trust, and what is said of them.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
