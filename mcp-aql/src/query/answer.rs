//! The reply to a collection query, independent of the executor.

use std::sync::Arc;

use serde::ser::{Error as _, SerializeStruct, Serializer};
use serde_json::{Map, Value};

use super::aggregate::Aggregations;
use super::page::Page;
use super::page_fit::{RowList, Rows};
use super::plan::{Plan, Seal, Window};
use super::select::{Projected, ReportedFields, Selection};
use super::value::Scalar;
use crate::paging::PageInfo;

/// The parts of a reply besides its rows.
#[derive(Debug, Clone)]
pub(crate) struct Answer<T> {
    /// How rows are displayed. A row that the executor has already projected is displayed as it is.
    pub(crate) view: Option<View<T>>,
    /// Whether rows are included.
    pub(crate) items: bool,
    /// Pagination by number instead of cursors.
    pub(crate) pagination: Option<Pagination>,
    pub(crate) aggregations: Option<Aggregations>,
    pub(crate) applied: Arc<Applied>,
    /// The place of each row, if the page has cursors.
    pub(crate) places: Option<RowPlaces>,
}

/// The places of a page's rows in the collection, for the cursors of a shortened page.
#[derive(Debug, Clone)]
pub(crate) struct RowPlaces {
    /// The values of the plan's sort keys, for each row.
    values: Vec<Vec<Scalar>>,
    seal: Arc<Seal>,
    /// Whether the page ends before a place instead of starting after one.
    pub(crate) from_end: bool,
}

/// The values of a row's computed fields, by name.
pub(crate) type ComputedValues = Result<Map<String, Value>, serde_json::Error>;

/// How rows of a type are displayed.
pub(crate) struct View<T> {
    pub(crate) selection: Arc<Selection>,
    /// Computes the selection's computed fields.
    pub(crate) computed: fn(&T, &Selection) -> ComputedValues,
}

impl<T> Clone for View<T> {
    fn clone(&self) -> Self {
        Self { selection: Arc::clone(&self.selection), computed: self.computed }
    }
}

impl<T> std::fmt::Debug for View<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("View").field("selection", &self.selection).finish_non_exhaustive()
    }
}

/// The controls that the reply reports as applied (REQ-COL-10).
#[derive(Debug, Clone, Default, serde::Serialize)]
pub(crate) struct Applied {
    /// The search terms; a row matches one of them or more.
    #[serde(rename = "query", skip_serializing_if = "Option::is_none")]
    pub(crate) terms: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sort: Vec<AppliedKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<ReportedFields>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page_size: Option<usize>,
}

/// One sort key.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct AppliedKey {
    pub(crate) field: String,
    pub(crate) order: &'static str,
}

/// The place of a page that was requested by number (REQ-PAG-11).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Pagination {
    Offset {
        limit: usize,
        offset: usize,
        returned: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        total_items: Option<u64>,
        has_more: bool,
    },
    Page {
        page: usize,
        page_size: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        total_items: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        total_pages: Option<u64>,
        has_more: bool,
    },
}

impl Plan {
    /// The number of rows an executor should fetch: one more than the page size, to detect further
    /// rows.
    pub fn wanted(&self) -> usize {
        self.window.count().saturating_add(1)
    }

    /// Builds the reply from an executor's result.
    ///
    /// `rows` are up to [`wanted`](Self::wanted) rows in the plan's order, or in reverse order for
    /// the last rows before a place. Each comes with the values of the plan's sort keys. `total` is
    /// the number of matching rows, if it was counted.
    pub(crate) fn answer<T>(
        &self,
        mut rows: Vec<(T, Vec<Scalar>)>,
        total: Option<u64>,
        aggregations: Option<Aggregations>,
        view: Option<View<T>>,
    ) -> Page<T> {
        let count = self.window.count();
        let more = rows.len() > count;
        rows.truncate(count);
        let (next, previous) = match &self.window {
            Window::First { after, .. } => (more, after.is_some()),
            Window::Last { before, .. } => {
                rows.reverse();
                (before.is_some(), more)
            }
            Window::Offset { offset, .. } => (more, *offset > 0),
        };
        let pagination = match self.window {
            Window::Offset { count, offset, by_page: false } => Some(Pagination::Offset {
                limit: count,
                offset,
                returned: rows.len(),
                total_items: total,
                has_more: more,
            }),
            Window::Offset { count, offset, by_page: true } => Some(Pagination::Page {
                page: offset / count.max(1) + 1,
                page_size: count,
                total_items: total,
                total_pages: total.map(|total| total.div_ceil(count.max(1) as u64)),
                has_more: more,
            }),
            Window::First { .. } | Window::Last { .. } => None,
        };
        let mut info = PageInfo::new(next, previous);
        if let (Some((_, start)), Some((_, end)), None) = (rows.first(), rows.last(), &pagination) {
            info = info.cursors(self.seal(start), self.seal(end));
        }
        info.total_count = total.filter(|_| self.items);
        let (items, values) = rows.into_iter().unzip();
        let places = pagination.is_none().then(|| RowPlaces {
            values,
            seal: Arc::clone(&self.seal),
            from_end: matches!(self.window, Window::Last { .. }),
        });
        let mut page = Page::new(items, info);
        page.answer = Some(Box::new(Answer {
            view,
            items: self.items,
            pagination,
            aggregations,
            applied: Arc::clone(&self.applied),
            places,
        }));
        page
    }
}

impl RowPlaces {
    /// The cursor of the row with this index on the page.
    pub(crate) fn cursor(&self, place: usize) -> Option<String> {
        self.values.get(place).map(|values| self.seal.seal(values))
    }
}

impl<T: serde::Serialize> Answer<T> {
    /// Serializes these rows of the page with the other parts of the reply.
    pub(super) fn serialize<S: Serializer>(
        &self,
        page: &Page<T>,
        rows: Rows<'_>,
        info: &PageInfo,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut data = serializer.serialize_struct("Page", 4)?;
        if let Some(aggregations) = &self.aggregations {
            data.serialize_field("aggregations", aggregations)?;
        }
        if self.items {
            let view = self.view.as_ref();
            let row = |place: usize| page.items.get(place).map(|row| DisplayedRow { row, view });
            data.serialize_field("items", &RowList { count: page.items.len(), rows, row })?;
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

/// A row as it is displayed.
pub(crate) struct DisplayedRow<'a, T> {
    pub(crate) row: &'a T,
    /// `None` for a row that the executor has already projected.
    pub(crate) view: Option<&'a View<T>>,
}

impl<T: serde::Serialize> serde::Serialize for DisplayedRow<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(View { selection, computed }) = self.view else {
            return self.row.serialize(serializer);
        };
        let projection = &selection.projection;
        if let Some(open) = &selection.open {
            open.mark_row();
        }
        if selection.computed.is_empty() {
            return Projected { value: self.row, projection, computed: None }.serialize(serializer);
        }
        let computed = computed(self.row, selection).map_err(S::Error::custom)?;
        Projected { value: self.row, projection, computed: Some(&computed) }.serialize(serializer)
    }
}
