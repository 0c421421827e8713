//! Settings of operators and the files that hold them.

pub(crate) mod access;
pub(crate) mod file_access;
pub(crate) mod key;
pub(crate) mod setting;
pub(crate) mod setting_value;
pub(crate) mod tightening;
pub mod user_directory;
