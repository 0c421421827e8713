//! Checks that other users of the machine cannot read or replace security-relevant files, and creates files without
//! access for other users.

#[cfg(not(unix))]
#[path = "without_permissions.rs"]
mod permissions;
#[cfg(unix)]
mod permissions;
mod setting_path;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

pub use permissions::private_file;
pub use permissions::private_folder;
pub use setting_path::SettingPath;

/// Access to a file that other users must not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForbiddenAccess {
    /// Other users must not change the file.
    Write,
    /// Other users must neither change nor read the file.
    Read,
}

impl ForbiddenAccess {
    /// Returns the permissions that other users must not have, the access granted by them, and the argument of `chmod`
    /// that removes them.
    const fn describe(self) -> (u32, &'static str, &'static str) {
        match self {
            Self::Write => (0o022, "change", "go-w"),
            Self::Read => (0o077, "read or change", "go-rwx"),
        }
    }
}

/// The owner and the permissions of a file.
#[derive(Debug, Clone, Copy)]
struct Permissions {
    owner: u32,
    mode: u32,
}

/// Maximum size of a file with settings or keys. Such files may come from another person.
pub(crate) const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Reads a file with settings or keys. The file may have been created by another person, so its type and size are
/// checked.
///
/// # Errors
///
/// Returns `InvalidInput` if the path is not a regular file, or if the file is larger than 1 MiB. Other errors come
/// from the operating system.
pub fn read_settings(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_regular(path, OpenOptions::new().read(true))?;
    file.take(MAX_SETTINGS_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_SETTINGS_BYTES {
        return refused("it is larger than 1 MiB");
    }
    Ok(bytes)
}

/// Opens a file created by an unknown person. Only opens regular files, because a device may have no end, and opening a
/// pipe waits for its other end.
///
/// # Errors
///
/// Returns `InvalidInput` if the path is not a regular file. Other errors come from the operating system.
pub fn open_regular(path: &Path, options: &OpenOptions) -> io::Result<File> {
    const PROBLEM: &str = "it is not a regular file";
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return refused(PROBLEM);
    }
    let file = options.open(path)?;
    // The file may have been replaced since the first check.
    if file.metadata()?.is_file() { Ok(file) } else { refused(PROBLEM) }
}

fn refused<T>(problem: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

/// Returns `true` if a file belongs to this user or to root, and no other user can read or change it.
pub fn is_private(path: &Path) -> io::Result<bool> {
    let found = path.symlink_metadata()?;
    let Some(Permissions { owner, mode }) = permissions::of(&found) else { return Ok(true) };
    Ok(found.is_file() && is_trusted(owner, own_user()) && mode & 0o077 == 0)
}

/// Describes how other users can access a file, one sentence each. Checks the permissions of the file itself, and the
/// directories and links on its path. If the file does not exist, only its path is checked. On systems without
/// permissions, the list is empty.
pub fn exposures(path: &Path, forbidden: ForbiddenAccess) -> Vec<String> {
    /// In a directory with this bit, users can only replace their own files.
    const STICKY: u32 = 0o1000;
    let (bits, can, rights) = forbidden.describe();
    let entries: Vec<_> = path_entries(path)
        .into_iter()
        .filter_map(|(path, metadata)| Some((path, permissions::of(&metadata)?, metadata)))
        .collect();
    let Some(last) = entries.len().checked_sub(1) else { return Vec::new() };
    let own_user = own_user();
    let mut found = Vec::new();
    for (place, (path, Permissions { owner, mode }, metadata)) in entries.iter().enumerate() {
        let path = path.display();
        if !is_trusted(*owner, own_user) {
            found.push(format!("`{path}` belongs to another user"));
        }
        // The permissions of a link have no effect.
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
            found.push(format!("other users can {can} `{path}`: run `chmod {rights} '{path}'`"));
        }
    }
    found
}

/// Returns `true` if files of this owner are as trustworthy as this process. All owners are trusted if the user of the
/// process is unknown.
fn is_trusted(owner: u32, own_user: Option<u32>) -> bool {
    owner == 0 || own_user.is_none_or(|own_user| owner == own_user)
}

/// Returns the user who owns the files created by this process, if it can be determined. The standard library has no
/// function for this.
///
/// The owner of `/proc/self` would be wrong: for some processes it is root, for example for a process with file
/// capabilities. The owner of the home directory may be another user too.
fn own_user() -> Option<u32> {
    let status = std::fs::read("/proc/self/status").ok();
    status.as_deref().and_then(file_system_user).or_else(|| owner_of_new_file().ok())
}

/// Returns the user whose permissions a process uses for files, from its `/proc/PID/status`: the last number of `Uid:`.
///
/// ```text
/// Uid: 1000 1001 1002 1003   → 1003
/// ```
fn file_system_user(status: &[u8]) -> Option<u32> {
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"))?;
    std::str::from_utf8(line).ok()?.split_whitespace().nth(3)?.parse().ok()
}

/// Creates a temporary file and returns its owner.
fn owner_of_new_file() -> io::Result<u32> {
    let path = std::env::temp_dir().join(crate::vocab::new_id("owner"));
    let metadata = std::fs::File::create_new(&path)?.metadata();
    std::fs::remove_file(&path)?;
    let permissions = permissions::of(&metadata?);
    permissions.map(|found| found.owner).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Returns the directories and links on the path of a file, and the file itself. Stops at the first missing part.
fn path_entries(path: &Path) -> Vec<(PathBuf, Metadata)> {
    /// The limit of Linux. A longer chain is probably a cycle.
    const MAX_LINKS: usize = 40;
    let parts = |path: &Path| -> Vec<PathBuf> {
        path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
    };
    let Ok(path) = std::path::absolute(path) else { return Vec::new() };
    let (mut rest, mut here, mut entries, mut links) =
        (parts(&path), PathBuf::new(), Vec::new(), 0);
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
        entries.push((next, metadata));
    }
    entries
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
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
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
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
            for (forbidden, count) in
                [(ForbiddenAccess::Read, reading), (ForbiddenAccess::Write, writing)]
            {
                let found = exposures(&file, forbidden);
                assert_eq!(found.len(), count, "{directory:o} {mode:o}: {found:?}");
            }
            // Each directory on the path is checked, before and after the link.
            assert!(exposures(&through, ForbiddenAccess::Read).len() >= reading);
        }
        set(&folder.join("state"), 0o700).unwrap();
        let missing = folder.join("state/missing.db");
        assert_eq!(exposures(&missing, ForbiddenAccess::Read), Vec::<String>::new());
        symlink("circle", folder.join("circle")).unwrap();
        assert_eq!(exposures(&folder.join("circle"), ForbiddenAccess::Read), Vec::<String>::new());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_belongs_to_another_user_is_found() {
        let own_user = own_user();
        assert!(own_user.is_some_and(|user| is_trusted(user, own_user)));
        assert!(is_trusted(0, own_user) && !is_trusted(4_242_424, own_user));
        // Only root can change the owner of a file.
        let folder = std::env::temp_dir().join(crate::vocab::new_id("access"));
        fs::create_dir_all(&folder).unwrap();
        let link = folder.join("state.db");
        symlink(folder.join("elsewhere"), &link).unwrap();
        if std::os::unix::fs::lchown(&link, Some(4_242_424), None).is_ok() {
            let found = exposures(&link, ForbiddenAccess::Write);
            assert_eq!(found, [format!("`{}` belongs to another user", link.display())]);
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_user_of_the_process_is_that_of_its_files() {
        let created = owner_of_new_file().unwrap();
        assert_eq!(own_user(), Some(created));
        // If the process must not be traced, `/proc/self` belongs to root, but this line of its status is still
        // correct.
        let status =
            b"Name:\tguard\xff\nUmask:\t0022\nUid:\t1000\t1001\t1002\t1003\nGid:\t7\t7\t7\t7\n";
        assert_eq!(file_system_user(status), Some(1003));
        for status in [&b""[..], b"Uid:\t1000", b"Uid:\ta\tb\tc\td", b"Name:\tUid: 1 2 3 4"] {
            assert_eq!(file_system_user(status), None);
        }
        // All owners are trusted if the user is unknown.
        for (owner, own_user, trusted) in [
            (1000, Some(1000), true),
            (0, Some(1000), true),
            (1001, Some(1000), false),
            (1000, Some(0), false),
            (1000, None, true),
        ] {
            assert_eq!(is_trusted(owner, own_user), trusted, "{owner} {own_user:?}");
        }
    }
}
