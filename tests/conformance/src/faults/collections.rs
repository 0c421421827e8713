//! Faults of the area `collections`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
