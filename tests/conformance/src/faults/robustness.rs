//! Faults of the area `robustness`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
