//! Pages of lists: the page controls of a call, and the cursors in its reply.
//!
//! The query language and the framework's own lists share these rules for combining controls, for page sizes, and for
//! the validity of cursors.

mod controls;
mod cursor_key;
mod list;
mod page;
mod page_fit;
mod page_info;
mod query_parts;

pub use controls::CURSOR_CONTROLS;
pub use controls::{Contradiction, EXPECTED_CURSOR, clamped, refused_cursor};
pub use cursor_key::CursorKey;
pub(crate) use list::{PageRequest, PageSizes};
pub(crate) use page::DATA_MARK;
pub use page::Page;
pub use page::RowCursors;
pub(crate) use page_fit::{
    FitResult, Frame, Measured, PageSpace, fit_page, measure_frame, widest_cut,
};
pub use page_info::PageInfo;
pub use query_parts::{Pagination, QueryParts};
