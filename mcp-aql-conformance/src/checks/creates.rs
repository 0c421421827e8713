//! What is created can be read.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
