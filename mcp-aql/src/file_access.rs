//! Finds out whether other users of the machine can read or replace a file that protection rests on.

use std::path::Path;

/// The access to a file that other users must not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forbidden {
    /// Change it.
    Writing,
    /// Change it or read it.
    #[cfg(feature = "sqlite")]
    Reading,
}

/// Whether a file belongs to this user, or to root, and no other user can read or change it.
#[cfg(all(unix, feature = "console"))]
pub(crate) fn is_private(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;

    let found = path.symlink_metadata()?;
    Ok(found.is_file() && is_trusted(found.uid()) && found.mode() & 0o077 == 0)
}

/// Only Unix has these rights.
#[cfg(all(not(unix), feature = "console"))]
pub(crate) fn is_private(_: &Path) -> std::io::Result<bool> {
    Ok(true)
}

/// One sentence for each way in which another user can get at the file: rights of the file itself, and
/// directories and links on the way to it that another user can change. Of a file that does not exist, only
/// the way is checked.
#[cfg(unix)]
pub(crate) fn exposures(path: &Path, forbidden: Forbidden) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;

    /// In a directory with this bit, users can only replace files of their own.
    const STICKY: u32 = 0o1000;
    let bits = match forbidden {
        Forbidden::Writing => 0o022,
        #[cfg(feature = "sqlite")]
        Forbidden::Reading => 0o077,
    };
    let way = way_to(path);
    let last = way.len().saturating_sub(1);
    let mut found = Vec::new();
    for (place, (path, metadata)) in way.iter().enumerate() {
        let (path, mode) = (path.display(), metadata.mode());
        if !is_trusted(metadata.uid()) {
            found.push(format!("`{path}` belongs to another user"));
        }
        // The rights of a link mean nothing.
        if metadata.is_symlink() {
            continue;
        }
        if metadata.is_dir() {
            if mode & 0o022 != 0 && mode & STICKY == 0 {
                found.push(format!(
                    "other users can replace files in `{path}`: run `chmod go-w '{path}'`"
                ));
            }
        } else if place == last && mode & bits != 0 {
            let (can, rights) = match forbidden {
                Forbidden::Writing => ("change", "go-w"),
                #[cfg(feature = "sqlite")]
                Forbidden::Reading => ("read or change", "go-rwx"),
            };
            found.push(format!("other users can {can} `{path}`: run `chmod {rights} '{path}'`"));
        }
    }
    found
}

/// Only Unix has these rights.
#[cfg(not(unix))]
pub(crate) fn exposures(_: &Path, _: Forbidden) -> Vec<String> {
    Vec::new()
}

/// Whether what belongs to this user is as trustworthy as this process.
#[cfg(unix)]
fn is_trusted(owner: u32) -> bool {
    owner == 0 || Some(owner) == own_user()
}

/// The user of this process: the owner of its entry in `/proc`, or of the home directory on systems without
/// one. The standard library has no function for it.
#[cfg(unix)]
fn own_user() -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;

    let own = std::fs::metadata("/proc/self");
    let own = own.or_else(|error| std::env::home_dir().ok_or(error).and_then(std::fs::metadata));
    own.ok().map(|metadata| metadata.uid())
}

/// All directories and links on the way to a file, and the file, as far as they exist.
#[cfg(unix)]
fn way_to(path: &Path) -> Vec<(std::path::PathBuf, std::fs::Metadata)> {
    use std::path::{Component, PathBuf};

    /// As on Linux; more of them are probably a circle.
    const MAX_LINKS: usize = 40;
    let parts = |path: &Path| -> Vec<PathBuf> {
        path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let Ok(path) = std::path::absolute(path) else { return Vec::new() };
    let (mut rest, mut here, mut way, mut links) = (parts(&path), PathBuf::new(), Vec::new(), 0);
    while let Some(part) = rest.pop() {
        match part.components().next() {
            Some(Component::CurDir) => continue,
            Some(Component::ParentDir) => {
                here.pop();
                continue;
            }
            _ => {}
        }
        let next = here.join(part);
        let Ok(metadata) = next.symlink_metadata() else { break };
        match next.read_link() {
            Ok(target) if metadata.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    break;
                }
                rest.extend(parts(&target));
            }
            _ => here.clone_from(&next),
        }
        way.push((next, metadata));
    }
    way
}

#[cfg(all(test, unix, feature = "sqlite"))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn loose_rights_are_found_on_the_file_and_on_the_way_to_it() {
        // REQ-OOB-09, REQ-TOK-14
        let folder = std::env::temp_dir().join(crate::vocab::new_id("access"));
        fs::create_dir_all(folder.join("state")).unwrap();
        let file = folder.join("state/state.db");
        fs::write(&file, "").unwrap();
        symlink(folder.join("state"), folder.join("link")).unwrap();
        let through = folder.join("link/../state/./state.db");
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        for (directory, mode, reading, writing) in [
            (0o700, 0o600, 0, 0),
            (0o755, 0o644, 1, 0),
            (0o700, 0o640, 1, 0),
            (0o700, 0o620, 1, 1),
            (0o777, 0o600, 1, 1),
            (0o1777, 0o600, 0, 0),
            (0o770, 0o666, 2, 2),
        ] {
            set(&folder.join("state"), directory).unwrap();
            set(&file, mode).unwrap();
            for (forbidden, count) in [(Forbidden::Reading, reading), (Forbidden::Writing, writing)]
            {
                let found = exposures(&file, forbidden);
                assert_eq!(found.len(), count, "{directory:o} {mode:o}: {found:?}");
            }
            // Each directory on the way through the link is looked at, the one behind it too.
            assert!(exposures(&through, Forbidden::Reading).len() >= reading);
        }
        set(&folder.join("state"), 0o700).unwrap();
        let missing = folder.join("state/missing.db");
        assert_eq!(exposures(&missing, Forbidden::Reading), Vec::<String>::new());
        symlink("circle", folder.join("circle")).unwrap();
        assert_eq!(exposures(&folder.join("circle"), Forbidden::Reading), Vec::<String>::new());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_belongs_to_another_user_is_found() {
        assert!(is_trusted(0) && own_user().is_some_and(is_trusted));
        assert!(!is_trusted(4_242_424));
        // Root alone can give files away.
        let folder = std::env::temp_dir().join(crate::vocab::new_id("access"));
        fs::create_dir_all(&folder).unwrap();
        let link = folder.join("state.db");
        symlink(folder.join("elsewhere"), &link).unwrap();
        if std::os::unix::fs::lchown(&link, Some(4_242_424), None).is_ok() {
            let found = exposures(&link, Forbidden::Writing);
            assert_eq!(found, [format!("`{}` belongs to another user", link.display())]);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
