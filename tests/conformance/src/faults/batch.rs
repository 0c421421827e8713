//! Faults of the area `batch`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
