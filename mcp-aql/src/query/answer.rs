//! The reply to a collection query, whichever executor found it.

use std::sync::Arc;

use serde::ser::{Error as _, SerializeSeq, SerializeStruct, Serializer};
use serde_json::{Map, Value};

use super::aggregate::Aggregations;
use super::page::Page;
use super::page_fit::{Fit, Room};
use super::plan::{Plan, Seal, Window};
use super::select::{Picked, Selection, Told};
use super::value::Scalar;
use crate::paging::PageInfo;

/// What a reply has beside its rows.
#[derive(Debug, Clone)]
pub(crate) struct Answer<T> {
    /// How rows are shown; a row that was cut down already is shown as it is.
    pub(crate) view: Option<View<T>>,
    /// Rows are shown.
    pub(crate) items: bool,
    /// Pages by number instead of cursors.
    pub(crate) pagination: Option<Pagination>,
    pub(crate) aggregations: Option<Aggregations>,
    pub(crate) applied: Arc<Applied>,
    /// Where each row lies, if pages are found by cursors.
    pub(crate) places: Option<Places>,
}

/// The places of a page's rows in the collection, for the cursors of a page that is cut.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The values of the plan's sort keys.
    values: Vec<Vec<Scalar>>,
    seal: Arc<Seal>,
    /// The page ends before a place, instead of beginning behind one.
    from_end: bool,
}

/// The values of a row's computed fields, by their names.
pub(crate) type ComputedValues = Result<Map<String, Value>, serde_json::Error>;

/// How a row of this type is shown.
pub(crate) struct View<T> {
    pub(crate) selection: Arc<Selection>,
    /// The values of the selection's computed fields.
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

/// What the reply says was applied (REQ-COL-10).
#[derive(Debug, Clone, Default, serde::Serialize)]
pub(crate) struct Applied {
    /// The terms that were looked for; a row has one of them or more.
    #[serde(rename = "query", skip_serializing_if = "Option::is_none")]
    pub(crate) terms: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filter: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sort: Vec<AppliedKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<Told>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page_size: Option<usize>,
}

/// One key of the order.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct AppliedKey {
    pub(crate) field: String,
    pub(crate) order: &'static str,
}

/// Where a page lies that was asked for by number (REQ-PAG-11).
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
    /// How many rows an executor looks for: one more than the page has, to know whether others follow.
    pub fn wanted(&self) -> usize {
        self.window.count().saturating_add(1)
    }

    /// Makes the reply out of what an executor found.
    ///
    /// `rows` are up to [`wanted`](Self::wanted) rows in the plan's order, or, for the last rows before
    /// a place, in the order turned around; each has the values of the plan's sort keys beside it.
    /// `total` is how many rows match at all, if that was counted.
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
        let places = pagination.is_none().then(|| Places {
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

impl<T: serde::Serialize> Answer<T> {
    /// Writes the page with what is beside its rows.
    pub(crate) fn serialize<S: Serializer>(
        &self,
        page: &Page<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if let Some(room) = Room::wanted() {
            return self.serialize_fitting(page, room, serializer);
        }
        self.serialize_rows(page, None, &page.page_info, serializer)
    }

    /// Writes the rows that there is room for. Where pages have numbers, the next page begins where this
    /// one should have ended: there, only rows are left out that are too large on their own.
    fn serialize_fitting<S: Serializer>(
        &self,
        page: &Page<T>,
        room: Room,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let around =
            self.serialize_rows(page, Some(&[]), &page.page_info, serde_json::value::Serializer);
        let around = around.map_err(S::Error::custom)?.to_string().len();
        let room = Room {
            // A cursor may be longer than the one in its place.
            bytes: room.bytes.saturating_sub(around + CURSORS),
            depth: room.depth.saturating_sub(2),
        };
        let shown = |index: usize| {
            let view = self.view.as_ref();
            page.items.get(index).map(|row| (index, OneShown { row, view }))
        };
        let found = page.items.len();
        let from_end = self.places.as_ref().is_some_and(|places| places.from_end);
        let fit = match from_end {
            true => Fit::of((0..found).rev().filter_map(shown), room),
            false => Fit::of((0..found).filter_map(shown), room),
        };
        let mut info = page.page_info.clone();
        if let Some(places) = self.places.as_ref().filter(|_| fit.seen < found) {
            if fit.seen == 0 {
                return self.serialize_rows(page, None, &page.page_info, serializer);
            }
            let last = if from_end { found - fit.seen } else { fit.seen - 1 };
            let cursor = places.values.get(last).map(|values| places.seal.seal(values));
            if from_end {
                (info.has_previous_page, info.start_cursor) = (true, cursor);
            } else {
                (info.has_next_page, info.end_cursor) = (true, cursor);
            }
        } else if fit.seen < found {
            return self.serialize_rows(page, None, &page.page_info, serializer);
        }
        fit.warn(found);
        self.serialize_rows(page, Some(&fit.kept), &info, serializer)
    }

    fn serialize_rows<S: Serializer>(
        &self,
        page: &Page<T>,
        kept: Option<&[usize]>,
        info: &PageInfo,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut data = serializer.serialize_struct("Page", 4)?;
        if let Some(aggregations) = &self.aggregations {
            data.serialize_field("aggregations", aggregations)?;
        }
        if self.items {
            let rows = Shown { rows: &page.items, kept, view: self.view.as_ref() };
            data.serialize_field("items", &rows)?;
            match (&self.pagination, kept) {
                (Some(pagination), None) => data.serialize_field("pagination", pagination)?,
                (Some(pagination), Some(kept)) => {
                    data.serialize_field("pagination", &pagination.with(kept.len()))?;
                }
                (None, _) => data.serialize_field("pageInfo", info)?,
            }
        }
        data.serialize_field("applied", &self.applied)?;
        data.end()
    }
}

impl Pagination {
    /// The same of a page with this number of rows.
    fn with(&self, rows: usize) -> Self {
        let mut pagination = self.clone();
        if let Self::Offset { returned, .. } = &mut pagination {
            *returned = rows;
        }
        pagination
    }
}

/// The maximum number of bytes by which the cursors of a cut page are longer.
const CURSORS: usize = 2_048;

/// Rows as they are shown.
struct Shown<'a, T> {
    rows: &'a [T],
    /// The places of the rows that are shown. Without it all are shown.
    kept: Option<&'a [usize]>,
    view: Option<&'a View<T>>,
}

impl<T: serde::Serialize> serde::Serialize for Shown<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { rows, kept, view } = *self;
        let count = kept.map_or(rows.len(), <[usize]>::len);
        let mut list = serializer.serialize_seq(Some(count))?;
        match kept {
            None => {
                rows.iter().try_for_each(|row| list.serialize_element(&OneShown { row, view }))?
            }
            Some(kept) => kept
                .iter()
                .filter_map(|place| rows.get(*place))
                .try_for_each(|row| list.serialize_element(&OneShown { row, view }))?,
        }
        list.end()
    }
}

/// One row as it is shown.
pub(crate) struct OneShown<'a, T> {
    pub(crate) row: &'a T,
    /// A row that was cut down already is shown as it is.
    pub(crate) view: Option<&'a View<T>>,
}

impl<T: serde::Serialize> serde::Serialize for OneShown<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(View { selection, computed }) = self.view else {
            return self.row.serialize(serializer);
        };
        let pick = &selection.pick;
        if let Some(open) = &selection.open {
            open.mark_row();
        }
        if selection.computed.is_empty() {
            return Picked { value: self.row, pick, computed: None }.serialize(serializer);
        }
        let computed = computed(self.row, selection).map_err(S::Error::custom)?;
        Picked { value: self.row, pick, computed: Some(&computed) }.serialize(serializer)
    }
}
