//! The argument type of operations that return a single resource with selected fields.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::internal::schema::{DisplayedRow, Selection, View};
use mcp_aql_core::{OperationError, Page};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::description;
use super::entry::{QueryArgument, QueryParams, QueryTable};
use super::options::QueryOptions;
use super::read::{QueryFaults, QuerySurface, ResultKind, default_preset, read_fields};
use super::resource::Resource;
use crate::collection::{CollectionQuery, view_of};
use crate::odd_values::OddValues;
use crate::plan::{FieldIndex, Filter, PageWindow, Plan, Seal, SortBy, SortKey, Test};
use crate::value::Scalar;

/// The fields of a `T` selected by a call.
///
/// Declare it as an argument of a READ operation. The operation then has the parameter `fields`, and without
/// it returns all fields (REQ-FLD-01, REQ-FLD-06).
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::query::SelectedFields;
/// # use serde::Serialize;
///
/// /// A book on the shelf.
/// #[derive(Serialize, JsonSchema, Resource)]
/// struct Book {
///     /// Number on the shelf.
///     #[resource(id)]
///     book_id: u32,
///     /// Title.
///     title: String,
/// }
///
/// /// Get a book.
/// #[operation(category = "READ")]
/// fn get_book(
///     /// Number on the shelf.
///     book_id: u32,
///     fields: Fields<Book>,
/// ) -> SelectedFields<Book> {
///     fields.of(Book { book_id, title: "Emma".to_owned() })
/// }
/// # fn main() -> mcp_aql::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let adapter = Adapter::builder("shelf").operation(get_book {}).build()?;
/// let result = adapter
///     .call("get_book", serde_json::json!({ "book_id": 2, "fields": ["title"] }))
///     .await;
/// assert_eq!(result.data()["book"], serde_json::json!({ "title": "Emma" }));
/// # Ok(()) }) }
/// ```
#[derive(Debug)]
pub struct Fields<T> {
    selection: Arc<Selection>,
    odd: Arc<OddValues>,
    resource: PhantomData<fn() -> T>,
}

impl<T> Clone for Fields<T> {
    fn clone(&self) -> Self {
        Self {
            selection: Arc::clone(&self.selection),
            odd: Arc::clone(&self.odd),
            resource: PhantomData,
        }
    }
}

impl<T: Resource> Fields<T> {
    /// Wraps the resource. Its serialization then contains only the selected fields.
    pub fn of(&self, resource: T) -> SelectedFields<T> {
        SelectedFields { resource, view: Some(view_of(Arc::clone(&self.selection))) }
    }

    /// Returns the query for the only row in which a field has this value. Without a value, the query matches
    /// no row.
    pub(crate) fn query_of(&self, field: FieldIndex, value: Option<Scalar>) -> CollectionQuery<T> {
        let filter = match value {
            Some(value) => Filter::Field(field, Test::Equals(value)),
            None => Filter::Any(Vec::new()),
        };
        CollectionQuery::of_plan(Plan {
            text: None,
            filter: Some(filter),
            sort: vec![SortKey { by: SortBy::Field(field), descending: false }],
            selection: Arc::clone(&self.selection),
            aggregate: Vec::new(),
            include_items: true,
            window: PageWindow::First { count: 1, after: None },
            include_total_count: false,
            applied: Arc::default(),
            // The cursors of this page are not part of the reply, so they need no secret key.
            seal: Arc::new(Seal { key: CursorKey::new([0; 16]), purpose: String::new() }),
            odd: Arc::clone(&self.odd),
        })
    }

    /// Returns the selected fields. Use it to load only these fields from a database.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }
}

impl<T: Resource> QueryArgument for Fields<T> {
    fn table(options: &QueryOptions) -> QueryTable {
        description::fields(&QuerySurface::new(T::model().schema(), options, &options.backend()))
    }

    fn read(options: &QueryOptions, given: &mut QueryParams<'_>) -> Result<Self, OperationError> {
        let surface = QuerySurface::new(T::model().schema(), options, given.capabilities);
        let mut faults = QueryFaults::default();
        let selected =
            read_fields(&surface, given, default_preset(ResultKind::Single), &mut faults);
        if let Some(error) = faults.into_error() {
            return Err(error);
        }
        let (selection, odd) = (Arc::new(selected.selection), given.odd_values());
        Ok(Self { selection, odd, resource: PhantomData })
    }
}

/// A resource with selected fields, created by [`Fields::of`]. Its JSON schema is that of the resource.
#[derive(Debug, Clone)]
pub struct SelectedFields<T> {
    resource: T,
    /// `None` if the row was loaded with the selected fields only.
    view: Option<View<T>>,
}

impl<T> SelectedFields<T> {
    /// Returns the whole resource.
    pub fn into_inner(self) -> T {
        self.resource
    }

    /// Returns the only row of a page.
    pub(crate) fn only_row(page: Page<T>) -> Option<Self> {
        let view = page.parts.and_then(|parts| parts.view);
        page.items.into_iter().next().map(|resource| Self { resource, view })
    }
}

impl<T: Serialize> Serialize for SelectedFields<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DisplayedRow { row: &self.resource, view: self.view.as_ref() }.serialize(serializer)
    }
}

impl<T: JsonSchema> JsonSchema for SelectedFields<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
