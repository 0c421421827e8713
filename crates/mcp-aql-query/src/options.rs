//! The options of an operation's query: which controls it supports, and how.

use mcp_aql_protocol::{DEFAULT_MAX_PAGE_SIZE, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};

use super::capabilities::Capabilities;

/// The options of a query argument.
///
/// Set them with `#[query(…)]` above the argument. You only need this type to [parse a
/// query](super::CollectionQuery::parse) outside of an operation:
///
/// ```
/// use mcp_aql::query::{QueryOptions, TextSearch};
///
/// let options = QueryOptions::new().text(TextSearch::Required).page_size(50);
/// assert_eq!(options.page_size, 50);
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a form that an author accepts by itself"
)]
pub struct QueryOptions {
    /// Availability of the parameter `query`.
    pub text: TextSearch,
    /// If `true`, `limit` and `offset` are also accepted (REQ-PAG-11).
    pub offset: bool,
    /// If `true`, `page` and `page_size` are also accepted (REQ-PAG-11).
    pub page: bool,
    /// If `true`, `preset` is accepted in addition to `fields` (REQ-FLD-05).
    pub preset: bool,
    /// If `true`, `order` is accepted in addition to `sort` (REQ-COL-06).
    pub order: bool,
    /// Default number of rows per page.
    pub page_size: usize,
    /// Maximum number of rows per page.
    pub max_page_size: usize,
    /// If `true`, pages report the number of matching rows.
    pub count: bool,
    /// Controls that the operation does not support.
    pub without: &'static [QueryControl],
    /// Returns the capabilities of the backend. If `None`, the backend supports everything.
    pub capabilities: Option<fn() -> Capabilities>,
    /// Maximum depth of a relationship query.
    pub max_depth: usize,
}

/// The availability of the parameter `query` in a collection query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextSearch {
    /// The parameter does not exist.
    None,
    /// The parameter is optional.
    Optional,
    /// The parameter is required, because the operation is a search.
    Required,
}

/// A control of a collection query that you can disable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryControl {
    /// `filter`.
    Filter,
    /// `sort`.
    Sort,
    /// `fields`.
    Fields,
    /// `aggregate` and `include_items`.
    Aggregate,
}

impl QueryOptions {
    /// Returns the defaults: all controls except `query`, with 20 rows per page and at most 100.
    pub const fn new() -> Self {
        Self {
            text: TextSearch::None,
            offset: false,
            page: false,
            preset: false,
            order: false,
            page_size: DEFAULT_PAGE_SIZE,
            max_page_size: DEFAULT_MAX_PAGE_SIZE,
            count: true,
            without: &[],
            capabilities: None,
            max_depth: 5,
        }
    }

    /// Sets the availability of the parameter `query`.
    #[must_use]
    pub const fn text(mut self, text: TextSearch) -> Self {
        self.text = text;
        self
    }

    /// Accepts `limit` and `offset` in addition to cursors.
    #[must_use]
    pub const fn accept_offset(mut self) -> Self {
        self.offset = true;
        self
    }

    /// Accepts `page` and `page_size` in addition to cursors.
    #[must_use]
    pub const fn accept_page(mut self) -> Self {
        self.page = true;
        self
    }

    /// Accepts `preset` in addition to `fields`.
    #[must_use]
    pub const fn accept_preset(mut self) -> Self {
        self.preset = true;
        self
    }

    /// Accepts `order` in addition to `sort`.
    #[must_use]
    pub const fn accept_order(mut self) -> Self {
        self.order = true;
        self
    }

    /// Sets the default number of rows per page.
    #[must_use]
    pub const fn page_size(mut self, rows: usize) -> Self {
        self.page_size = rows;
        self
    }

    /// Sets the maximum number of rows per page.
    #[must_use]
    pub const fn max_page_size(mut self, rows: usize) -> Self {
        self.max_page_size = rows;
        self
    }

    /// Omits the number of matching rows. Use this if the rows are expensive to count.
    #[must_use]
    pub const fn without_count(mut self) -> Self {
        self.count = false;
        self
    }

    /// Sets the controls that the operation does not support.
    #[must_use]
    pub const fn without(mut self, controls: &'static [QueryControl]) -> Self {
        self.without = controls;
        self
    }

    /// Sets the capabilities of the backend. Unsupported controls are not offered.
    #[must_use]
    pub const fn capabilities(mut self, capabilities: fn() -> Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Returns the maximum number of rows per page, limited by the protocol (REQ-PAG-08).
    pub(crate) fn largest_page(&self) -> usize {
        self.max_page_size.clamp(1, MAX_PAGE_SIZE)
    }

    /// Returns the default number of rows per page.
    pub(crate) fn usual_page(&self) -> usize {
        self.page_size.clamp(1, self.largest_page())
    }

    /// Returns the capabilities of the backend.
    pub(crate) fn backend(&self) -> Capabilities {
        self.capabilities.map(|of| of()).unwrap_or_default()
    }

    /// Sets the maximum depth of a relationship query.
    #[must_use]
    pub const fn max_depth(mut self, depth: usize) -> Self {
        self.max_depth = depth;
        self
    }
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self::new()
    }
}
