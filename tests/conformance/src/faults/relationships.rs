//! Faults of the area `relationships`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
