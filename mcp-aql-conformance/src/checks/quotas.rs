//! Rate limits and quotas, and what is said of them.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
