//! Pages, there and back.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
