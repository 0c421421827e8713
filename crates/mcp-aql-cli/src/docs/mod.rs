//! Reference pages of an adapter, rendered from its introspection.
//!
//! They help people to decide whether to connect the adapter, and developers to write calls. The command `tasks docs
//! --format html --out DIR` writes them. If your program serves the page itself or keeps it in its repository, call
//! [`markdown`] or [`html`]:
//!
//! ```
//! use mcp_aql::prelude::*;
//!
//! /// Count the characters of a string.
//! #[operation(category = "READ")]
//! fn measure_text(
//!     /// The string to measure.
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
//! The same adapter with the same settings always produces the same bytes, so you can compare the page in a test. The
//! anchors are stable: `operation-NAME`, `parameter-OPERATION-NAME`, `type-NAME`, `error-CODE`, `family-NAME`.

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

/// Renders the reference as one HTML page without external resources: styles and script are inline.
///
/// All strings of the adapter's author are escaped.
pub fn html(adapter: &Adapter) -> String {
    html::render(&reference::Reference::of(adapter))
}
