//! Pages of lists: the page controls of a call, and the cursors in its answer.
//!
//! The query language and the framework's own lists share these rules: valid combinations of
//! controls, page sizes, and the validity of cursors.

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
