//! Faults of the area `lifecycle`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
