//! Settings of operators and the files that hold them.

pub(crate) mod access;
pub(crate) mod file_access;
pub(crate) mod setting;
pub(crate) mod tightening;
pub mod user_directory;
