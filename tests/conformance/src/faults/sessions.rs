//! Faults of the area `sessions`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
