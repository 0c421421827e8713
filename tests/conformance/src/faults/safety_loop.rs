//! Faults of the area `safety_loop`.

use super::Fault;

pub(super) const FAULTS: &[Fault] = &[];
