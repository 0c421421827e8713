//! Faults of the area `modes`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
