//! Confirmation tokens.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
