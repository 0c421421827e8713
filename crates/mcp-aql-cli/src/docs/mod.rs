//! Reference pages of an adapter, rendered from its introspection: for people who decide whether to
//! connect it, and for developers who write the calls.
//!
//! `tasks docs --format html --out DIR` writes them; [`markdown`] and [`html`] return the same text
//! to a program that serves the page itself or keeps it in its repository:
//!
//! ```
//! use mcp_aql::prelude::*;
//!
//! /// Measure the length of a text.
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
//! The same adapter with the same settings produces the same bytes. Anchors are stable:
//! `operation-NAME`, `parameter-OPERATION-NAME`, `type-NAME`, `error-CODE`, `family-NAME`.

mod element;
mod errors;
mod html;
mod introspection;
mod json;
mod markdown;
mod phrases;
mod prose;
mod reference;

use mcp_aql_core::Adapter;

/// Renders the reference as one Markdown document for a code host.
pub fn markdown(adapter: &Adapter) -> String {
    markdown::render(&reference::Reference::of(adapter))
}

/// Renders the reference as one HTML page that loads nothing: styles and script are inline.
///
/// The adapter author's text is escaped everywhere.
pub fn html(adapter: &Adapter) -> String {
    html::render(&reference::Reference::of(adapter))
}
