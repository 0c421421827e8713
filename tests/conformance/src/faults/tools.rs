//! Faults of the area `tools`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
