//! Stands in for the permissions of files on systems that do not have those of Unix.

use std::fs::{DirBuilder, Metadata, OpenOptions};

use super::Permissions;

/// Returns nothing: a file has no such permissions.
pub(super) fn of(_: &Metadata) -> Option<Permissions> {
    None
}

/// Returns options that create a file.
pub fn private_file() -> OpenOptions {
    OpenOptions::new()
}

/// Returns a builder that creates directories with their parents.
pub fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    builder
}
