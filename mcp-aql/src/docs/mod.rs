//! Reference pages of an adapter, rendered from what it tells clients: for people who decide whether
//! to connect it, and for those who write the calls.
//!
//! `tasks docs --format html --out DIR` writes them; [`markdown`] and [`html`] give the same text to
//! a program that serves the page itself or keeps it in its repository:
//!
//! ```
//! use mcp_aql::prelude::*;
//!
//! /// Tell how long a text is.
//! #[operation(category = "READ")]
//! fn measure_text(
//!     /// The text.
//!     #[param(max_length = 1000)]
//!     text: String,
//! ) -> usize {
//!     text.chars().count()
//! }
//!
//! # fn main() -> mcp_aql::Result<()> {
//! let adapter = Adapter::builder("texts").operation(measure_text {}).build()?;
//! let page = mcp_aql::docs::markdown(&adapter);
//! assert!(page.contains("up to 1,000 characters"));
//! # Ok(()) }
//! ```
//!
//! The same adapter with the same settings gives the same bytes. Anchors are stable:
//! `operation-NAME`, `parameter-OPERATION-NAME`, `type-NAME`, `error-CODE`, `family-NAME`.

mod element;
mod errors;
mod html;
mod json;
mod markdown;
mod prose;
mod reference;
mod told;
mod words;

use crate::adapter::Adapter;

/// The reference as one Markdown document, to be read on a code host.
pub fn markdown(adapter: &Adapter) -> String {
    markdown::render(&reference::Reference::of(adapter))
}

/// The reference as one HTML page that loads nothing: styles and script are inside.
///
/// Text of the adapter's author is escaped wherever it appears.
pub fn html(adapter: &Adapter) -> String {
    html::render(&reference::Reference::of(adapter))
}
