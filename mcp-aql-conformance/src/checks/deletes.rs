//! What is deleted is gone.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
