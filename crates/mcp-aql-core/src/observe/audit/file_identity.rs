//! The identity of an open file, to notice that its path names another one.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;

/// The device and the inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity(u64, u64);

impl FileIdentity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self(metadata.dev(), metadata.ino())
    }
}

/// Whether no path names the file any more, so that what it contains will be lost.
pub(super) fn is_deleted(file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.nlink() == 0)
}
