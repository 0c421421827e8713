//! The argument type of operations that return a single resource with selected fields.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use mcp_aql_core::error::OperationError;
use mcp_aql_core::projection::{DisplayedRow, Selection, View};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::description;
use super::entry::{QueryArgument, QueryParams, QueryTable};
use super::options::QueryOptions;
use super::read::{QueryFaults, QuerySurface, ResultKind, default_preset, read_fields};
use super::resource::Resource;
use crate::collection::view_of;

/// The fields of a `T` that a call requests: the parameter `fields` of a READ operation. Without
/// it, all fields are returned (REQ-FLD-01, REQ-FLD-06).
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::query::SelectedFields;
/// # use serde::Serialize;
///
/// /// A book on the shelf.
/// #[derive(Serialize, JsonSchema, Resource)]
/// struct Book {
///     /// Its number on the shelf.
///     #[resource(id)]
///     book_id: u32,
///     /// Its title.
///     title: String,
/// }
///
/// /// Get a book.
/// #[operation(category = "READ")]
/// fn get_book(
///     /// Its number on the shelf.
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
    resource: PhantomData<fn() -> T>,
}

impl<T> Clone for Fields<T> {
    fn clone(&self) -> Self {
        Self { selection: Arc::clone(&self.selection), resource: PhantomData }
    }
}

impl<T: Resource> Fields<T> {
    /// Wraps the resource for serialization with the selected fields.
    pub fn of(&self, resource: T) -> SelectedFields<T> {
        SelectedFields { resource, view: view_of(Arc::clone(&self.selection)) }
    }

    /// The selected fields, to load only those.
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
        match faults.into_error() {
            Some(error) => Err(error),
            None => Ok(Self { selection: Arc::new(selected.selection), resource: PhantomData }),
        }
    }
}

/// A resource with selected fields: [`Fields::of`]. Introspection describes it as the resource
/// itself.
#[derive(Debug, Clone)]
pub struct SelectedFields<T> {
    resource: T,
    view: View<T>,
}

impl<T> SelectedFields<T> {
    /// Returns the whole resource.
    pub fn into_inner(self) -> T {
        self.resource
    }
}

impl<T: Serialize> Serialize for SelectedFields<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DisplayedRow { row: &self.resource, view: Some(&self.view) }.serialize(serializer)
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
