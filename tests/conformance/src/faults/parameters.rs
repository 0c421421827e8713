//! Faults of the area `parameters`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
