//! The budget of a run: which operations it exercises, how many calls it makes at a time, and how fast.

mod calls;
mod pacer;
mod sample;

pub(crate) use self::calls::{CallCounts, CallTimes, PendingCalls};
pub(crate) use self::pacer::{MAX_CALL_WAIT, Pacer, RateLimit, StatedLimit};
pub(crate) use self::sample::select_operations;
