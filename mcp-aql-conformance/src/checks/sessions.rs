//! What belongs to one connection, and ends with it.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
