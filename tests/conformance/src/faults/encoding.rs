//! Faults of the area `encoding`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
