//! The tools: their names, descriptions, annotations and schemas.

use super::Check;

pub(super) const CHECKS: &[Check] = &[];
