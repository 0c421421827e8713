//! Faults of the area `danger`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
