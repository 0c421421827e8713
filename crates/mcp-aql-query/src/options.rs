//! The options of an operation's query: which controls it supports, and how.

use mcp_aql_protocol::{DEFAULT_MAX_PAGE_SIZE, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};

use super::capabilities::Capabilities;

/// The options of a query argument, set by `#[query(…)]` above the argument.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a form that an author accepts by itself"
)]
pub struct QueryOptions {
    /// Whether the parameter `query` exists.
    pub text: TextSearch,
    /// Whether `limit` and `offset` are also accepted (REQ-PAG-11).
    pub offset: bool,
    /// Whether `page` and `page_size` are also accepted (REQ-PAG-11).
    pub page: bool,
    /// Whether `preset` is accepted in addition to `fields` (REQ-FLD-05).
    pub preset: bool,
    /// Whether `order` is accepted in addition to `sort` (REQ-COL-06).
    pub order: bool,
    /// The default number of rows per page.
    pub page_size: usize,
    /// The maximum number of rows per page.
    pub max_page_size: usize,
    /// Whether pages report the number of matching rows.
    pub count: bool,
    /// Controls that the operation does not support.
    pub without: &'static [QueryControl],
    /// The capabilities of the backend; all by default.
    pub capabilities: Option<fn() -> Capabilities>,
    /// The maximum depth of a relationship query.
    pub max_depth: usize,
}

/// Whether a collection query has the parameter `query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextSearch {
    /// No.
    None,
    /// The parameter is optional.
    Optional,
    /// The parameter is required: the operation is a search.
    Required,
}

/// A control of a collection query that can be disabled.
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
    /// The defaults: all controls except `query`, pages of 20 and at most 100 rows.
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

    /// Sets whether the parameter `query` exists.
    #[must_use]
    pub const fn text(mut self, text: TextSearch) -> Self {
        self.text = text;
        self
    }

    /// Also accepts `limit` and `offset`.
    #[must_use]
    pub const fn accept_offset(mut self) -> Self {
        self.offset = true;
        self
    }

    /// Also accepts `page` and `page_size`.
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

    /// Omits the number of matching rows, which can be expensive to count.
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

    /// The maximum number of rows per page, within the protocol's limit (REQ-PAG-08).
    pub(crate) fn largest_page(&self) -> usize {
        self.max_page_size.clamp(1, MAX_PAGE_SIZE)
    }

    /// The default number of rows per page.
    pub(crate) fn usual_page(&self) -> usize {
        self.page_size.clamp(1, self.largest_page())
    }

    /// The capabilities of the backend.
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
