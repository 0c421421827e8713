//! Faults of the area `aggregates`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
