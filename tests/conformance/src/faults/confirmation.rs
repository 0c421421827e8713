//! Faults of the area `confirmation`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
