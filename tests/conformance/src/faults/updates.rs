//! Faults of the area `updates`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
