//! Faults of the area `errors`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
