//! Paths of files named by settings.

use std::io;
use std::path::{Path, PathBuf};

/// The path of a file named by a setting of the operator or of the program.
///
/// An absolute path is used unchanged. A relative path is resolved against the folder of the configuration file, or
/// against the working directory for a setting of the program. Clients start servers in the folders of projects, so
/// this folder may contain links created by another person. Therefore no link below it is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingPath {
    /// The base folder. `None` for an absolute path.
    folder: Option<PathBuf>,
    path: PathBuf,
}

impl SettingPath {
    /// Creates the path of a file. Pass the empty path as `folder` for the working directory.
    pub fn new(folder: &Path, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { folder: path.is_relative().then(|| folder.to_owned()), path }
    }

    /// Returns the path, absolute or relative to the working directory.
    pub fn path(&self) -> PathBuf {
        self.folder.as_ref().map_or_else(|| self.path.clone(), |folder| folder.join(&self.path))
    }

    /// Returns the path if it contains no link.
    ///
    /// # Errors
    ///
    /// Returns `InvalidInput` if the file is a link, or a folder between it and the base folder is one.
    pub fn without_links(&self) -> io::Result<PathBuf> {
        let Some(folder) = &self.folder else { return Ok(self.path.clone()) };
        let mut here = folder.clone();
        for part in &self.path {
            here.push(part);
            if here.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                let problem = format!(
                    "`{}` is a symbolic link, and links are not followed in relative paths: write an absolute path",
                    here.display()
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
        }
        Ok(here)
    }
}
