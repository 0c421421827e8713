//! What operations take, and what they have to refuse.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
