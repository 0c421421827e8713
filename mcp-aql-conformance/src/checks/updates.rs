//! What an update changes, and what it leaves alone.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
