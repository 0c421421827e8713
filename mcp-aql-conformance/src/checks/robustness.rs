//! After malformed input, and under load.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
