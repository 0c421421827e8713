//! Builds the reply to a collection query, for every executor.

use std::sync::Arc;

use mcp_aql_core::Page;
use mcp_aql_core::internal::paging::{PageInfo, Pagination, QueryParts, RowCursors};
use mcp_aql_core::internal::schema::View;
use serde_json::value::{RawValue, to_raw_value};

use super::aggregate::Aggregations;
use super::plan::{PageWindow, Plan, Seal};
use super::value::Scalar;

/// The positions of a page's rows in the collection.
///
/// If a reply is too long and its page is shortened, its cursors are computed from these values.
#[derive(Debug)]
struct RowPlaces {
    /// The values of the plan's sort keys, for each row.
    values: Vec<Vec<Scalar>>,
    seal: Arc<Seal>,
    /// If `true`, the page ends before a cursor instead of starting after one.
    from_end: bool,
}

impl Plan {
    /// Returns the number of rows an executor should fetch: one more than the page size, to detect whether
    /// more rows follow.
    pub fn fetch_count(&self) -> usize {
        self.window.count().saturating_add(1)
    }

    /// Builds the reply from an executor's result.
    ///
    /// `rows` are up to [`fetch_count`](Self::fetch_count) rows in the plan's order, or in reverse order for
    /// a page of the last rows. Each row comes with the values of the plan's sort keys. `total` is the number
    /// of matching rows, if it was counted.
    pub(crate) fn build_page<T>(
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
            PageWindow::First { after, .. } => (more, after.is_some()),
            PageWindow::Last { before, .. } => {
                rows.reverse();
                (before.is_some(), more)
            }
            PageWindow::Offset { offset, .. } => (more, *offset > 0),
        };
        let pagination = match self.window {
            PageWindow::Offset { count, offset, by_page: false } => Some(Pagination::Offset {
                limit: count,
                offset,
                returned: rows.len(),
                total_items: total,
                has_more: more,
            }),
            PageWindow::Offset { count, offset, by_page: true } => Some(Pagination::Page {
                page: offset / count.max(1) + 1,
                page_size: count,
                total_items: total,
                total_pages: total.map(|total| total.div_ceil(count.max(1) as u64)),
                has_more: more,
            }),
            PageWindow::First { .. } | PageWindow::Last { .. } => None,
        };
        let mut info = PageInfo::new(next, previous);
        if let (Some((_, start)), Some((_, end)), None) = (rows.first(), rows.last(), &pagination) {
            info = info.cursors(self.encode_cursor(start), self.encode_cursor(end));
        }
        info.total_count = total.filter(|_| self.include_items);
        let (items, values) = rows.into_iter().unzip();
        let mut page = Page::new(items, info);
        if pagination.is_none() {
            page.cursors = Some(Arc::new(RowPlaces {
                values,
                seal: Arc::clone(&self.seal),
                from_end: self.window.is_from_end(),
            }));
        }
        page.parts = Some(Box::new(QueryParts {
            view,
            items: self.include_items,
            pagination,
            aggregations: aggregations.as_ref().map(raw),
            applied: raw(&*self.applied),
        }));
        page
    }
}

impl RowCursors for RowPlaces {
    fn cursor(&self, place: usize) -> Option<String> {
        self.values.get(place).map(|values| self.seal.seal(values))
    }

    fn is_from_end(&self) -> bool {
        self.from_end
    }
}

/// Serializes a part of the reply.
fn raw<T: serde::Serialize>(part: &T) -> Box<RawValue> {
    // These parts consist of strings, numbers and lists of them, so serialization cannot fail.
    to_raw_value(part).unwrap_or_default()
}
