//! What an operation's author says of its query: which controls it takes, and how.

use mcp_aql_protocol::{DEFAULT_MAX_PAGE_SIZE, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};

use super::capabilities::Capabilities;

/// How an operation takes a query: what `#[query(…)]` above the argument says.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a form that an author accepts by itself"
)]
pub struct QueryOptions {
    /// Whether words can be looked for.
    pub text: TextControl,
    /// `limit` and `offset` are accepted too (REQ-PAG-11).
    pub offset: bool,
    /// `page` and `page_size` are accepted too (REQ-PAG-11).
    pub page: bool,
    /// `preset` is accepted beside `fields` (REQ-FLD-05).
    pub preset: bool,
    /// `order` is accepted beside `sort` (REQ-COL-06).
    pub order: bool,
    /// How many rows a page has when nothing is said.
    pub page_size: usize,
    /// How many rows a page has at most.
    pub max_page_size: usize,
    /// Pages tell how many rows match.
    pub count: bool,
    /// Controls that the operation does without.
    pub without: &'static [Control],
    /// What the backend can do; all, when nothing is said.
    pub capabilities: Option<fn() -> Capabilities>,
    /// How far a relationship query goes at most.
    pub max_depth: usize,
}

/// Whether a collection query has the parameter `query`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextControl {
    /// No.
    None,
    /// A call may leave it out.
    Optional,
    /// Every call gives it: the operation is a search.
    Required,
}

/// A control of a collection query that an operation may do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Control {
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
    /// All controls but `query`, pages of 20 and at most 100 rows.
    pub const fn new() -> Self {
        Self {
            text: TextControl::None,
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

    /// Sets whether words can be looked for.
    #[must_use]
    pub const fn text(mut self, text: TextControl) -> Self {
        self.text = text;
        self
    }

    /// Accepts `limit` and `offset` too.
    #[must_use]
    pub const fn accept_offset(mut self) -> Self {
        self.offset = true;
        self
    }

    /// Accepts `page` and `page_size` too.
    #[must_use]
    pub const fn accept_page(mut self) -> Self {
        self.page = true;
        self
    }

    /// Accepts `preset` beside `fields`.
    #[must_use]
    pub const fn accept_preset(mut self) -> Self {
        self.preset = true;
        self
    }

    /// Accepts `order` beside `sort`.
    #[must_use]
    pub const fn accept_order(mut self) -> Self {
        self.order = true;
        self
    }

    /// Sets how many rows a page has when nothing is said.
    #[must_use]
    pub const fn page_size(mut self, rows: usize) -> Self {
        self.page_size = rows;
        self
    }

    /// Sets how many rows a page has at most.
    #[must_use]
    pub const fn max_page_size(mut self, rows: usize) -> Self {
        self.max_page_size = rows;
        self
    }

    /// Does not tell how many rows match, where that costs too much.
    #[must_use]
    pub const fn without_count(mut self) -> Self {
        self.count = false;
        self
    }

    /// Sets the controls that the operation does without.
    #[must_use]
    pub const fn without(mut self, controls: &'static [Control]) -> Self {
        self.without = controls;
        self
    }

    /// Sets what the backend can do; what it cannot is not offered.
    #[must_use]
    pub const fn capabilities(mut self, capabilities: fn() -> Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// How many rows a page has at most, within the protocol's bound (REQ-PAG-08).
    pub(crate) fn largest_page(&self) -> usize {
        self.max_page_size.clamp(1, MAX_PAGE_SIZE)
    }

    /// How many rows a page has when nothing is said.
    pub(crate) fn usual_page(&self) -> usize {
        self.page_size.clamp(1, self.largest_page())
    }

    /// What the backend can do.
    pub(crate) fn backend(&self) -> Capabilities {
        self.capabilities.map(|of| of()).unwrap_or_default()
    }

    /// Sets how far a relationship query goes at most.
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
