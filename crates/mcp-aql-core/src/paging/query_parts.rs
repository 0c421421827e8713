//! The parts of a page that a query adds to its rows.

use schemars::{Schema, json_schema};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::value::RawValue;

use super::page_fit::{RowList, Rows};
use super::page_info::PageInfo;
use crate::schema::projection::{DisplayedRow, View};

/// The parts of a reply besides its rows, and the form of the rows.
#[derive(Debug, Clone)]
pub struct QueryParts<T> {
    /// How rows are displayed. A row that the executor has already projected is displayed as it is.
    pub view: Option<View<T>>,
    /// Whether rows are included.
    pub items: bool,
    /// Pagination by number instead of cursors.
    pub pagination: Option<Pagination>,
    /// The aggregations that the query requested.
    pub aggregations: Option<Box<RawValue>>,
    /// The controls that the reply reports as applied.
    pub applied: Box<RawValue>,
}

/// The place of a page that was requested by number (REQ-PAG-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Pagination {
    /// The place of a page by the number of rows before it.
    Offset {
        /// The size that was requested.
        limit: usize,
        /// The number of rows before the page.
        offset: usize,
        /// The number of rows of the page.
        returned: usize,
        /// The number of all rows, if it was requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        total_items: Option<u64>,
        /// Whether rows follow.
        has_more: bool,
    },
    /// The place of a page by its number.
    Page {
        /// The number of the page, from 1.
        page: usize,
        /// The size that was requested.
        page_size: usize,
        /// The number of all rows, if it was requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        total_items: Option<u64>,
        /// The number of pages, if the number of rows was requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        total_pages: Option<u64>,
        /// Whether rows follow.
        has_more: bool,
    },
}

impl<T: Serialize> QueryParts<T> {
    /// Serializes these rows of the page with the other parts of the reply.
    pub(super) fn serialize<S: Serializer>(
        &self,
        items: &[T],
        rows: Rows<'_>,
        info: &PageInfo,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut data = serializer.serialize_struct("Page", 4)?;
        if let Some(aggregations) = &self.aggregations {
            data.serialize_field("aggregations", aggregations)?;
        }
        if self.items {
            let row = |place: usize| items.get(place).map(|row| shown(row, Some(self)));
            data.serialize_field("items", &RowList { count: items.len(), rows, row })?;
            match (&self.pagination, rows) {
                (Some(pagination), Rows::At(kept)) => {
                    data.serialize_field("pagination", &pagination.with(kept.len()))?;
                }
                (Some(pagination), _) => data.serialize_field("pagination", pagination)?,
                (None, _) => data.serialize_field("pageInfo", info)?,
            }
        }
        data.serialize_field("applied", &self.applied)?;
        data.end()
    }
}

/// Returns a row of a page with these parts as it is serialized.
pub(super) fn shown<'a, T: Serialize>(
    row: &'a T,
    parts: Option<&'a QueryParts<T>>,
) -> DisplayedRow<'a, T> {
    DisplayedRow { row, view: parts.and_then(|parts| parts.view.as_ref()) }
}

/// Returns the schema of a page, from those of its entries and of its `pageInfo`.
pub(super) fn page_schema(items: &Schema, info: &Schema) -> Schema {
    json_schema!({
        "type": "object",
        "description": "One page of a collection, and what a query asked for beside it.",
        "properties": {
            "items": {
                "type": "array",
                "description": "The entries of this page; none where only summaries were asked for.",
                "items": items,
            },
            "pageInfo": info,
            "pagination": {
                "type": "object",
                "description": "Takes the place of pageInfo where pages have numbers.",
            },
            "aggregations": { "type": "object", "description": "The summaries, by their labels." },
            "applied": { "type": "object", "description": "What was understood of the query." },
        },
    })
}

impl Pagination {
    /// The same answer for a page with this number of rows.
    fn with(&self, rows: usize) -> Self {
        let mut pagination = self.clone();
        if let Self::Offset { returned, .. } = &mut pagination {
            *returned = rows;
        }
        pagination
    }
}
