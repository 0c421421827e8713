//! Faults of the area `limits`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
