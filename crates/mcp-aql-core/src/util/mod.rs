//! Small helpers for futures, locks and time.

pub mod clock;
pub(crate) mod future;
pub(crate) mod sync;
