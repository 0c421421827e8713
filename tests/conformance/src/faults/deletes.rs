//! Faults of the area `deletes`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
