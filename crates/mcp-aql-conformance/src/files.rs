//! Opens the files that a user names. The runner is started in folders that others have made or can change, such as a
//! cloned project or `/tmp`, so it opens regular files only, and follows no link that may not be the user's.

#[cfg(unix)]
mod shared_folder;
#[cfg(not(unix))]
#[path = "files/without_shared_folder.rs"]
mod shared_folder;

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use self::shared_folder::is_shared;

/// Reads a text of at most this many bytes.
///
/// # Errors
/// `InvalidInput` if it is not a regular file, because a device may have no end and a pipe no writer, or if it is larger;
/// or the error of the system.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path, OpenOptions::new().read(true))?.take(max_bytes + 1).read_to_string(&mut text)?;
    if text.len() as u64 > max_bytes {
        return refuse(format!("it is larger than {} MiB", max_bytes >> 20));
    }
    Ok(text)
}

/// Opens a file to write to it. A link in the place of a relative path is not followed: it may belong to the project.
///
/// # Errors
/// `InvalidInput` if it is not a regular file, or a link; or the error of the system.
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
    // Before it is opened, because opening a pipe waits for its other end.
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

/// Refuses a path through a link in a folder in which others can make links.
fn refuse_foreign_links(path: &Path) -> io::Result<()> {
    /// The same limit as in Linux.
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
        if is_shared(&here) || links > MAX_LINKS {
            return refuse(format!("`{}` is a link that others can make", next.display()));
        }
        rest.extend(parts(&target));
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

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
        for (shared, name, is_opened) in [
            (0o755, "own/file", true),
            (0o755, "own/link", true),
            (0o755, "shared/link", true),
            (0o755, "own/into", true),
            (0o755, "own/../shared/folder/file", true),
            (0o1777, "own/link", true),
            (0o1777, "shared/link", false),
            (0o1777, "own/into", false),
            (0o1777, "own/../shared/folder/file", false),
            (0o775, "shared/link", false),
            (0o755, "own", false),
            (0o755, "own/zero", false),
            (0o755, "own/pipe", false),
        ] {
            mode("shared", shared).unwrap();
            assert_eq!(read(&at(name), 9).is_ok(), is_opened, "{name} {shared:o}");
            assert_eq!(open_to_write(&at(name), &append).is_ok(), is_opened, "{name} {shared:o}");
        }
        assert_eq!(read(&at("own/file"), 4).unwrap(), "text");
        assert!(read(&at("own/file"), 3).is_err());
    }
}
