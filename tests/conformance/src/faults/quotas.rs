//! Faults of the area `quotas`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
