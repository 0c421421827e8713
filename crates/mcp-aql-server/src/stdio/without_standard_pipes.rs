//! Stand-in for pipes as standard input and output on systems other than Linux.

use super::{Input, Writer};

/// Returns `None`: a thread reads standard input instead.
pub(super) fn standard_pipes() -> Option<(Input, Writer)> {
    None
}
