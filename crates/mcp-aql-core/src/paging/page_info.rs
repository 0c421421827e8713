//! The position of a page in its list.

use schemars::JsonSchema;

/// The position of a page in its collection.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, JsonSchema)]
#[non_exhaustive]
pub struct PageInfo {
    /// True if more entries follow.
    #[serde(rename = "hasNextPage")]
    pub has_next_page: bool,
    /// True if entries precede this page.
    #[serde(rename = "hasPreviousPage")]
    pub has_previous_page: bool,
    /// The cursor of the first entry.
    #[serde(rename = "startCursor", skip_serializing_if = "Option::is_none")]
    pub start_cursor: Option<String>,
    /// The cursor of the last entry: `after` for the next page.
    #[serde(rename = "endCursor", skip_serializing_if = "Option::is_none")]
    pub end_cursor: Option<String>,
    /// The number of entries in the collection, if counting is cheap.
    #[serde(rename = "totalCount", skip_serializing_if = "Option::is_none")]
    pub total_count: Option<u64>,
}

impl PageInfo {
    /// Creates the position of a page. Pass `true` if entries follow the page, and if entries precede it.
    pub fn new(has_next_page: bool, has_previous_page: bool) -> Self {
        Self { has_next_page, has_previous_page, ..Self::default() }
    }

    /// Sets the cursors of the first and the last entry.
    #[must_use]
    pub fn cursors(mut self, start: impl Into<String>, end: impl Into<String>) -> Self {
        self.start_cursor = Some(start.into());
        self.end_cursor = Some(end.into());
        self
    }

    /// Sets the number of entries in the collection.
    #[must_use]
    pub fn total_count(mut self, count: u64) -> Self {
        self.total_count = Some(count);
        self
    }
}
