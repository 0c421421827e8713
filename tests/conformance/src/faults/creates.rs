//! Faults of the area `creates`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
