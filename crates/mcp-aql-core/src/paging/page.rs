//! Serializes a page of a collection into a reply.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::page_fit::{self, CutEnd, FitResult, FittedRows, PageForm, PageSpace, RowList, Rows};
use super::page_info::PageInfo;
use super::query_parts::{QueryParts, page_schema, shown};

/// A schema keyword that marks types whose values are the whole `data` of a reply: [`Page`] and the relationship
/// graph.
///
/// The value is the name of the type. The keyword is never published.
pub(crate) const DATA_MARK: &str = "x-mcp-aql-data";

/// One page of a collection. In the reply, the entries are `data.items`, and their position is `data.pageInfo`:
///
/// ```json
/// {
///   "items": ["a", "b"],
///   "pageInfo": { "hasNextPage": true, "hasPreviousPage": false, "startCursor": "a", "endCursor": "b" }
/// }
/// ```
///
/// Return it from an operation that does its own paging:
///
/// ```
/// use mcp_aql::query::PageInfo;
/// use mcp_aql::Page;
///
/// let page = Page::new(vec!["a", "b"], PageInfo::new(true, false).cursors("a", "b"));
/// let json = serde_json::to_value(&page)?;
/// assert_eq!(json["pageInfo"]["hasNextPage"], true);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// A page built by a `CollectionQuery` contains only the requested fields of each entry. It also reports the applied
/// controls, and its aggregates as `data.aggregations`.
///
/// Source: features/pagination §3 (REQ-RSP-11, REQ-PAG-04, REQ-PAG-07), features/aggregations §3
/// (REQ-AGG-04, REQ-AGG-05).
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// Entries of this page.
    pub items: Vec<T>,
    /// Position of this page in the collection.
    pub page_info: PageInfo,
    /// Parts that a query adds.
    #[doc(hidden)]
    pub parts: Option<Box<QueryParts<T>>>,
    /// Creates the cursors of the entries. `None` if the operation created the cursors itself.
    #[doc(hidden)]
    pub cursors: Option<Arc<dyn RowCursors>>,
}

/// Creates the cursors of a page's entries. They are needed if the page is shortened to fit into a reply.
pub trait RowCursors: fmt::Debug + Send + Sync {
    /// Returns the cursor of the entry with this index.
    fn cursor(&self, place: usize) -> Option<String>;

    /// Returns `true` if the page was requested from the end of the list (`last` and `before`).
    fn is_from_end(&self) -> bool;
}

impl<T> Page<T> {
    /// Creates a page of these entries. You choose the cursors in `page_info`.
    pub fn new(items: Vec<T>, page_info: PageInfo) -> Self {
        Self { items, page_info, parts: None, cursors: None }
    }
}

impl<T> Page<T> {
    /// Returns the cursor of the entry with this index, or `None` if the operation created the cursors itself.
    fn cursor(&self, place: usize) -> Option<String> {
        self.cursors.as_ref()?.cursor(place)
    }

    /// Returns `true` if the page was requested from the end of the list.
    fn is_from_end(&self) -> bool {
        self.cursors.as_ref().is_some_and(|cursors| cursors.is_from_end())
    }
}

impl<T: Serialize> Page<T> {
    fn write<S: Serializer>(
        &self,
        rows: Rows<'_>,
        info: &PageInfo,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if let Some(parts) = &self.parts {
            return parts.serialize(&self.items, rows, info, serializer);
        }
        let row = |place: usize| self.items.get(place);
        let mut page = serializer.serialize_struct("Page", 2)?;
        page.serialize_field("items", &RowList { count: self.items.len(), rows, row })?;
        page.serialize_field("pageInfo", info)?;
        page.end()
    }

    /// Writes the entries that fit into the budget, but at least one. The page ends before the first entry that does
    /// not fit, and its cursor leads there. Entries too large for any reply are left out.
    fn write_fitting<S: Serializer>(
        &self,
        mut space: PageSpace,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if self.cursors.is_none() {
            return self.write_without_cursors(space, serializer);
        }
        let found = self.items.len();
        let end = if self.is_from_end() { CutEnd::Start } else { CutEnd::End };
        loop {
            let fit = self.fit(space);
            if fit.seen == found && fit.kept.len() < found {
                fit.report_cut(found, space, CutEnd::Neither);
                return self.write(Rows::At(&fit.kept), &self.page_info, serializer);
            }
            let info = if fit.seen == found { None } else { self.info_of(&fit) };
            let Some(info) = info else {
                return self.write(Rows::All, &self.page_info, serializer);
            };
            // The new cursor may be longer than the one it replaces.
            let longer = length(&info).saturating_sub(length(&self.page_info));
            if longer <= fit.left {
                fit.report_cut(found, space, end);
                return self.write(Rows::At(&fit.kept), &info, serializer);
            }
            let missing = longer - fit.left;
            space.bytes = space.bytes.saturating_sub(missing);
            space.budget = space.budget.saturating_sub(missing);
        }
    }

    /// Writes all entries except those too large for any reply. The page cannot be shortened: with fewer entries,
    /// page numbers would change their meaning, and only the operation knows how to create other cursors.
    fn write_without_cursors<S: Serializer>(
        &self,
        space: PageSpace,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let found = self.items.len();
        let whole = PageSpace { budget: space.bytes, ..space };
        let fit = self.fit(whole);
        let size =
            |space| page_fit::fitting_size((0..found).filter_map(|place| self.shown(place)), space);
        if fit.seen == found && fit.kept.len() < found {
            fit.report_cut(found, whole, CutEnd::Neither);
            return self.write(Rows::At(&fit.kept), &self.page_info, serializer);
        }
        if fit.seen == found {
            page_fit::report(FitResult::Uncut(size(space)));
        } else if fit.seen > 0 {
            page_fit::report(FitResult::TooMany(size(whole)));
        }
        self.write(Rows::All, &self.page_info, serializer)
    }

    fn fit(&self, space: PageSpace) -> FittedRows {
        let found = self.items.len();
        let row = |place: usize| self.shown(place).map(|row| (place, row));
        match self.is_from_end() {
            true => FittedRows::of((0..found).rev().filter_map(row), space),
            false => FittedRows::of((0..found).filter_map(row), space),
        }
    }

    /// Returns the `pageInfo` of the page with only the entries that fit.
    fn info_of(&self, fit: &FittedRows) -> Option<PageInfo> {
        let mut info = self.page_info.clone();
        if self.is_from_end() {
            info.start_cursor = Some(self.cursor(self.items.len().checked_sub(fit.seen)?)?);
            info.has_previous_page = true;
        } else {
            info.end_cursor = Some(self.cursor(fit.seen.checked_sub(1)?)?);
            info.has_next_page = true;
        }
        Some(info)
    }

    /// Returns the entry with this index in its serialized form.
    fn shown(&self, place: usize) -> Option<impl Serialize> {
        self.items.get(place).map(|row| shown(row, self.parts.as_deref()))
    }
}

/// Returns the length of a serialized `pageInfo`.
fn length(info: &PageInfo) -> usize {
    serde_json::to_string(info).map_or(0, |text| text.len())
}

impl<T: Serialize> Serialize for Page<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match page_fit::wanted() {
            PageForm::Whole => self.write(Rows::All, &self.page_info, serializer),
            PageForm::Marked(marker) => {
                self.write(Rows::Marker(&marker), &self.page_info, serializer)
            }
            PageForm::Fitting(space) => self.write_fitting(space, serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Page<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Page", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        let info = generator.subschema_for::<PageInfo>();
        let mut page = page_schema(&items, &info);
        page.insert(DATA_MARK.to_owned(), Self::schema_name().into());
        page
    }
}
