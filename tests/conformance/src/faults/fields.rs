//! Faults of the area `fields`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
