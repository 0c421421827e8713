//! The reserved operations of the safety loop.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
