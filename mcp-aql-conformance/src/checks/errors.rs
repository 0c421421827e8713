//! Failures: codes, messages, details.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
