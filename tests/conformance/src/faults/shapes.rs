//! Faults of the area `shapes`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
