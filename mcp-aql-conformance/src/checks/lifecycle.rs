//! Executions: their states, progress and end.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
