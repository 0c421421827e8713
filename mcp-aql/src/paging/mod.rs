//! Pages of lists: the page controls of a call, and the cursors in its answer.
//!
//! The query language and the lists of the framework itself share these rules: which controls go
//! together, how large a page is, and which cursors are accepted.

mod controls;
mod cursor_key;
mod list;
mod page_info;

pub(crate) use controls::CURSOR_CONTROLS;
#[cfg(feature = "query")]
pub(crate) use controls::{Contradiction, EXPECTED_CURSOR, clamped, refused_cursor};
pub use cursor_key::CursorKey;
pub(crate) use list::{ListCursors, PageRequest, PageSizes};
pub use page_info::PageInfo;
