//! Filters, order and search.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
