//! The system's limit on open files.

use rustix::process::{Resource, getrlimit};

/// Returns the number of files that this process may open, if it is limited.
pub(super) fn descriptor_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}
