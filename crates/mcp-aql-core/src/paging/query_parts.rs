//! The parts of a reply that a query adds to the rows of a page.

use schemars::{Schema, json_schema};
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::value::RawValue;

use super::page_fit::{RowList, Rows};
use super::page_info::PageInfo;
use crate::schema::projection::{DisplayedRow, View};

/// The parts of a reply in addition to its rows, and the form of the rows.
#[derive(Debug, Clone)]
pub struct QueryParts<T> {
    /// Form in which rows are displayed. `None` if the executor has already projected them.
    pub view: Option<View<T>>,
    /// If `true`, rows are included.
    pub items: bool,
    /// Pagination by number. `None` if cursors are used.
    pub pagination: Option<Pagination>,
    /// Aggregations requested by the query.
    pub aggregations: Option<Box<RawValue>>,
    /// Controls that the reply reports as applied.
    pub applied: Box<RawValue>,
}

/// The position of a page requested by number (REQ-PAG-11):
///
/// ```json
/// { "limit": 10, "offset": 20, "returned": 10, "total_items": 57, "has_more": true }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Pagination {
    /// Pagination by the number of skipped rows.
    Offset {
        /// Requested size.
        limit: usize,
        /// Number of rows before the page.
        offset: usize,
        /// Number of rows of the page.
        returned: usize,
        /// Number of all rows, if it was requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        total_items: Option<u64>,
        /// If `true`, more rows follow.
        has_more: bool,
    },
    /// Page-number pagination.
    Page {
        /// Number of the page, starting at 1.
        page: usize,
        /// Requested size.
        page_size: usize,
        /// Number of all rows, if it was requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        total_items: Option<u64>,
        /// Number of pages, if the number of rows was requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        total_pages: Option<u64>,
        /// If `true`, more rows follow.
        has_more: bool,
    },
}

impl<T: Serialize> QueryParts<T> {
    /// Serializes the selected rows of the page together with the other parts of the reply.
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

/// Returns a row of a page in its serialized form.
pub(super) fn shown<'a, T: Serialize>(
    row: &'a T,
    parts: Option<&'a QueryParts<T>>,
) -> DisplayedRow<'a, T> {
    DisplayedRow { row, view: parts.and_then(|parts| parts.view.as_ref()) }
}

/// Returns the schema of a page, composed of those of its entries and of its `pageInfo`.
pub(super) fn page_schema(items: &Schema, info: &Schema) -> Schema {
    json_schema!({
        "type": "object",
        "description": "One page of a collection, and the other results of the query.",
        "properties": {
            "items": {
                "type": "array",
                "description": "The entries of this page; empty if the query asked only for aggregations.",
                "items": items,
            },
            "pageInfo": info,
            "pagination": {
                "type": "object",
                "description": "Replaces pageInfo if pages have numbers.",
            },
            "aggregations": { "type": "object", "description": "The aggregated values by their labels." },
            "applied": { "type": "object", "description": "How the query was understood." },
        },
    })
}

impl Pagination {
    /// Returns the same pagination for a page with this number of rows.
    fn with(&self, rows: usize) -> Self {
        let mut pagination = self.clone();
        if let Self::Offset { returned, .. } = &mut pagination {
            *returned = rows;
        }
        pagination
    }
}
