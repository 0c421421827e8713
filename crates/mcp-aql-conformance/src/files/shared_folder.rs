//! Finds folders in which other users of the machine can make files.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Returns `true` if other users can make files in a folder.
pub(super) fn is_shared(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|found| found.mode() & 0o022 != 0)
}
