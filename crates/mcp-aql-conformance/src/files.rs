//! Opens files named by the user, without following links planted by others.
//!
//! The runner is started in directories that other users created or can change, such as a cloned project or `/tmp`.
//! Therefore, only regular files are opened, and links of other users are not followed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use self::owners::is_foreign_link;

/// Reads a file of at most `max_bytes` bytes as a string.
///
/// # Errors
///
/// Returns `InvalidInput` if the file is larger or is not a regular file: reading a device may never end, and a pipe
/// may have no writer. Other errors come from the operating system.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path, OpenOptions::new().read(true))?.take(max_bytes + 1).read_to_string(&mut text)?;
    if text.len() as u64 > max_bytes {
        return refuse(format!("it is larger than {} MiB", max_bytes >> 20));
    }
    Ok(text)
}

/// Opens a file for writing. Rejects a relative path that contains a link, because the link may belong to the project.
///
/// # Errors
///
/// Returns `InvalidInput` if the path contains such a link or does not name a regular file. Other errors come from the
/// operating system.
pub fn open_to_write(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let mut here = PathBuf::new();
    for part in path.components().filter(|_| path.is_relative()) {
        here.push(part);
        if here.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return refuse(format!("`{}` is a link: write an absolute path", here.display()));
        }
    }
    open(path, options)
}

/// Opens a regular file.
fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    refuse_foreign_links(path)?;
    // Check the kind first, because opening a pipe waits for its other end.
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return refuse("it is not a regular file".to_owned());
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => refuse("it is not a regular file".to_owned()),
    }
}

fn refuse<T>(problem: String) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

/// Rejects a path through a link that another user created in a directory writable by others.
fn refuse_foreign_links(path: &Path) -> io::Result<()> {
    /// The limit of Linux. A longer chain may be a cycle.
    const MAX_LINKS: usize = 40;
    let parts = |path: &Path| -> Vec<PathBuf> {
        path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let (mut rest, mut here, mut links) = (parts(&std::path::absolute(path)?), PathBuf::new(), 0);
    while let Some(part) = rest.pop() {
        if let Some(Component::ParentDir) = part.components().next() {
            here.pop();
            continue;
        }
        let next = here.join(part);
        let Ok(target) = next.read_link() else {
            here = next;
            continue;
        };
        links += 1;
        if is_foreign_link(&next, &here) || links > MAX_LINKS {
            let next = next.display();
            return refuse(format!("`{next}` is a link of another user: name the file itself"));
        }
        rest.extend(parts(&target));
    }
    Ok(())
}

#[cfg(unix)]
mod owners {
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    /// Returns `true` if others can create files in the directory and the link belongs to another user.
    ///
    /// This is the rule of Linux's `protected_symlinks`, applied to every directory that others can change. Links in a
    /// checkout with mode 0775 are accepted if they belong to the owner of the directory.
    pub(super) fn is_foreign_link(link: &Path, folder: &Path) -> bool {
        let (Ok(link), Ok(folder)) = (link.symlink_metadata(), folder.metadata()) else {
            return false;
        };
        let own_user = rustix::process::geteuid().as_raw();
        folder.mode() & 0o022 != 0 && !is_trusted(link.uid(), folder.uid(), own_user)
    }

    /// Returns `true` if a link belongs to the owner of its folder, to this user or to root.
    pub(super) const fn is_trusted(link: u32, folder: u32, own_user: u32) -> bool {
        link == folder || link == own_user || link == 0
    }
}

#[cfg(not(unix))]
mod owners {
    use std::path::Path;

    /// Returns `false`, because directories have no Unix permissions here.
    pub(super) fn is_foreign_link(_: &Path, _: &Path) -> bool {
        false
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};

    use super::owners::is_trusted;
    use super::*;

    #[test]
    fn files_are_regular_bounded_and_not_behind_links_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode =
            |name: &str, mode| fs::set_permissions(at(name), fs::Permissions::from_mode(mode));
        for name in ["own", "shared"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("own/file"), "text").unwrap();
        symlink(at("own/file"), at("own/link")).unwrap();
        symlink(at("own/file"), at("shared/link")).unwrap();
        symlink(at("own"), at("shared/folder")).unwrap();
        symlink(at("shared/link"), at("own/into")).unwrap();
        symlink("/dev/zero", at("own/zero")).unwrap();
        mode("own", 0o755).unwrap();
        let pipe = at("own/pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut append = OpenOptions::new();
        append.append(true).create(true);
        let check = |shared: u32, name: &str, is_opened: bool| {
            mode("shared", shared).unwrap();
            let found = read(&at(name), 9);
            assert_eq!(found.is_ok(), is_opened, "{name} {shared:o}: {found:?}");
            assert_eq!(open_to_write(&at(name), &append).is_ok(), is_opened, "{name} {shared:o}");
        };
        for name in ["own/file", "own/link", "shared/link", "own/into", "own/../shared/folder/file"]
        {
            for shared in [0o755, 0o775, 0o1777] {
                check(shared, name, true);
            }
        }
        for name in ["own", "own/zero", "own/pipe"] {
            check(0o755, name, false);
        }
        // Only root can give links to another user, so the other tests run without this part.
        let foreign = |name: &str| lchown(at(name), Some(4_242_424), None);
        if foreign("shared/link").and_then(|()| foreign("shared/folder")).is_ok() {
            for (shared, is_opened) in [(0o755, true), (0o775, false), (0o1777, false)] {
                for name in ["shared/link", "own/into", "own/../shared/folder/file"] {
                    check(shared, name, is_opened);
                }
                check(shared, "own/link", true);
            }
            let error = read(&at("shared/link"), 9).unwrap_err().to_string();
            assert!(error.ends_with("is a link of another user: name the file itself"), "{error}");
        }
        assert_eq!(read(&at("own/file"), 4).unwrap(), "text");
        assert!(read(&at("own/file"), 3).is_err());
    }

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
