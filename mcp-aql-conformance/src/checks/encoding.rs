//! Text that is none, and text of all kinds.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
