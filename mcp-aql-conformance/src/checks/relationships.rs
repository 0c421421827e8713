//! How things hang together.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
