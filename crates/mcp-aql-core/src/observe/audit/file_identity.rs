//! Identifies an open file, to detect that its path now refers to another file.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;

/// Device and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity(u64, u64);

impl FileIdentity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self(metadata.dev(), metadata.ino())
    }
}

/// Returns `true` if no path refers to the file any more. Its content is lost when it is closed.
pub(super) fn is_deleted(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}
