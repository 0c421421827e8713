//! Detects links that other users of the machine created in directories writable by others.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Returns `true` if others can create files in the directory and the link belongs to another user.
///
/// This is the rule of Linux's `protected_symlinks`, applied to every directory that others can change. Links in a
/// checkout with mode 0775 are accepted if they belong to the owner of the directory.
pub(super) fn is_foreign_link(link: &Path, folder: &Path) -> bool {
    let (Ok(link), Ok(folder)) = (link.symlink_metadata(), folder.metadata()) else { return false };
    let own_user = rustix::process::geteuid().as_raw();
    folder.mode() & 0o022 != 0 && !is_trusted(link.uid(), folder.uid(), own_user)
}

/// Returns `true` if a link belongs to the owner of its folder, to this user or to root.
const fn is_trusted(link: u32, folder: u32, own_user: u32) -> bool {
    link == folder || link == own_user || link == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_folders_owner_this_user_and_root_are_trusted() {
        for (link, folder, own_user, trusted) in [
            (1000, 1000, 1001, true),
            (1001, 1000, 1001, true),
            (0, 1000, 1001, true),
            (1002, 1000, 1001, false),
            (1002, 0, 1001, false),
            (1002, 1000, 0, false),
        ] {
            assert_eq!(is_trusted(link, folder, own_user), trusted, "{link} {folder} {own_user}");
        }
    }
}
