//! Replaces `permissions` on systems without the permissions of Unix.

use std::fs::{DirBuilder, Metadata, OpenOptions};

use super::Permissions;

/// Returns `None`, because a file has no such permissions.
pub(super) fn of(_: &Metadata) -> Option<Permissions> {
    None
}

/// Returns options to create a file.
pub fn private_file() -> OpenOptions {
    OpenOptions::new()
}

/// Returns a builder that creates directories with their parents.
pub fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    builder
}
