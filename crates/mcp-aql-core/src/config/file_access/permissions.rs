//! The permissions of files on Unix.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};

use super::Permissions;

/// Returns the owner and the permissions of a file.
#[expect(clippy::unnecessary_wraps, reason = "other systems have no permissions")]
pub(super) fn of(metadata: &Metadata) -> Option<Permissions> {
    Some(Permissions { owner: metadata.uid(), mode: metadata.mode() })
}

/// Returns options to create a file accessible only to its owner.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Returns a builder that creates directories with their parents, accessible only to their owner.
pub fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
}
