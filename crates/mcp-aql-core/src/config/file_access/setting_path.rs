//! Paths of files that settings name.

use std::io;
use std::path::{Path, PathBuf};

/// The path of a file that a setting of the operator or of the program names.
///
/// A relative path belongs to a folder: that of the configuration file, or the working directory for a setting of the
/// program. Clients start servers in the folders of projects, so that folder may hold links that someone else has made:
/// no link is followed below it. An absolute path is used as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingPath {
    /// The folder, unless the path is absolute.
    folder: Option<PathBuf>,
    path: PathBuf,
}

impl SettingPath {
    /// Creates the path of a file, relative to a folder. The working directory is the empty path.
    pub fn new(folder: &Path, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { folder: path.is_relative().then(|| folder.to_owned()), path }
    }

    /// The path, relative to the working directory if it is not absolute.
    pub fn path(&self) -> PathBuf {
        self.folder.as_ref().map_or_else(|| self.path.clone(), |folder| folder.join(&self.path))
    }

    /// Returns the path, if it leads through no link.
    ///
    /// # Errors
    /// `InvalidInput` if the file, or a folder between it and the one that it is relative to, is a link.
    pub fn without_links(&self) -> io::Result<PathBuf> {
        let Some(folder) = &self.folder else { return Ok(self.path.clone()) };
        let mut here = folder.clone();
        for part in &self.path {
            here.push(part);
            if here.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                let problem = format!(
                    "`{}` is a link, which is not followed for a relative path: write an absolute path",
                    here.display()
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
            }
        }
        Ok(here)
    }
}
