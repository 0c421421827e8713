//! Faults of the area `pagination`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
