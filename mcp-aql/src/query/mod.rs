//! What collection-returning operations have in common.

mod page;

pub use page::{Page, PageInfo};
