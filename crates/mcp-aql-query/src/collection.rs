//! The argument type of operations that return a collection.

use std::marker::PhantomData;
use std::sync::Arc;

use mcp_aql_core::internal::paging::CursorKey;
use mcp_aql_core::internal::schema::{Selection, View};
use mcp_aql_core::{OperationError, Page};
use serde_json::{Map, Number, Value};

use super::aggregate::Aggregations;
use super::capture::widened;
use super::description;
use super::entry::{QueryArgument, QueryParams, QueryTable};
use super::memory::{self, Row};
use super::options::QueryOptions;
use super::plan::{Filter, Plan};
use super::read::{QuerySurface, read_plan};
use super::resource::{IdentifiedResource, Resource};
use super::value::Scalar;

/// A query of a collection of `T`: text search, filter, sort, fields, aggregates and pages.
///
/// Declare it as an argument of a READ operation. The operation then offers all query parameters of the
/// protocol that `T` supports, and your function receives a parsed and validated query.
///
/// ```
/// use mcp_aql::prelude::*;
/// # use serde::Serialize;
///
/// /// A book on the shelf.
/// #[derive(Clone, Serialize, JsonSchema, Resource)]
/// struct Book {
///     /// Number on the shelf.
///     #[resource(id)]
///     book_id: u32,
///     /// Title.
///     #[resource(search, sort)]
///     title: String,
///     /// Number of pages.
///     #[resource(filter, sort, numeric)]
///     pages: u32,
/// }
///
/// struct Shelf(Vec<Book>);
///
/// #[operations]
/// impl Shelf {
///     /// List the books.
///     #[operation(category = "READ")]
///     fn list_books(&self, query: CollectionQuery<Book>) -> Result<Page<Book>, OperationError> {
///         query.run(&self.0)
///     }
/// }
/// # fn main() -> mcp_aql::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let books = vec![
/// #     Book { book_id: 1, title: "Dune".into(), pages: 412 },
/// #     Book { book_id: 2, title: "Emma".into(), pages: 474 },
/// # ];
/// let adapter = Adapter::builder("shelf").operations(Shelf(books)).build()?;
/// let result = adapter
///     .call("list_books", serde_json::json!({
///         "filter": { "pages": { "gt": 450 } },
///         "fields": ["title"],
///         "aggregate": { "pages": { "sum": "pages" } },
///         "include_items": true,
///     }))
///     .await;
/// assert_eq!(result.data()["items"], serde_json::json!([{ "title": "Emma" }]));
/// assert_eq!(result.data()["aggregations"]["pages"], 474);
/// # Ok(()) }) }
/// ```
///
/// Source: features/collection-querying (REQ-COL-01 to REQ-COL-12).
#[derive(Debug)]
pub struct CollectionQuery<T> {
    plan: Plan,
    resource: PhantomData<fn() -> T>,
}

impl<T> Clone for CollectionQuery<T> {
    fn clone(&self) -> Self {
        Self { plan: self.plan.clone(), resource: PhantomData }
    }
}

impl<T: Resource> CollectionQuery<T> {
    /// Parses a query outside of an operation, for example in a test or from your own configuration file.
    ///
    /// # Errors
    ///
    /// Returns the error that a client would receive for the same parameters.
    pub fn parse(
        options: &QueryOptions,
        params: Map<String, Value>,
        key: &CursorKey,
    ) -> Result<Self, OperationError>
    where
        T: IdentifiedResource,
    {
        super::read::read_map::<Self>(options, params, key)
    }

    /// Creates a query for a plan that does not come from a request.
    pub(crate) const fn of_plan(plan: Plan) -> Self {
        Self { plan, resource: PhantomData }
    }

    /// Adds a condition from outside of the request, such as a row filter. It is not reported as applied.
    pub(crate) fn add_condition(&mut self, condition: Filter) {
        self.plan.filter = Some(match self.plan.filter.take() {
            Some(filter) => Filter::All(vec![condition, filter]),
            None => condition,
        });
    }

    /// Returns the parsed query. You only need it if you write your own executor.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Builds the page from the result of your own executor of the [plan](Self::plan).
    ///
    /// - `rows` are the rows of the [window](crate::plan::Plan::window) in the plan's order, and up to [one
    ///   more](crate::plan::Plan::fetch_count). The additional row shows that others follow. For a page of
    ///   the last rows (`last`), pass them in reverse order.
    /// - Each row comes with its values of the plan's sort keys. They form its cursor.
    /// - `total` is the number of matching rows, if you counted them.
    ///
    /// ```
    /// use mcp_aql::prelude::*;
    /// use mcp_aql::query::{CollectionQuery, Scalar};
    /// # use serde::Serialize;
    ///
    /// /// A country.
    /// #[derive(Serialize, JsonSchema, Resource)]
    /// struct Country {
    ///     /// Its code.
    ///     #[resource(id)]
    ///     code: String,
    /// }
    ///
    /// /// Answers from an index of sorted codes.
    /// fn list(query: &CollectionQuery<Country>, codes: &[&'static str]) -> Page<Country> {
    ///     let rows = codes.iter().take(query.plan().fetch_count()).map(|code| {
    ///         (Country { code: (*code).to_owned() }, vec![Scalar::from(*code)])
    ///     });
    ///     query.build_page(rows.collect(), Some(codes.len() as u64), None)
    /// }
    /// # let options = mcp_aql::query::QueryOptions::new().page_size(1);
    /// # let key = mcp_aql::query::CursorKey::random();
    /// # let query = CollectionQuery::parse(&options, Default::default(), &key)?;
    /// # let page = list(&query, &["ad", "ae"]);
    /// # assert!(page.page_info.has_next_page && page.items.len() == 1);
    /// # Ok::<(), OperationError>(())
    /// ```
    pub fn build_page(
        &self,
        rows: Vec<(T, Vec<Scalar>)>,
        total: Option<u64>,
        aggregations: Option<Aggregations>,
    ) -> Page<T> {
        let view = view_of(Arc::clone(&self.plan.selection));
        self.plan.build_page(rows, total, aggregations, Some(view))
    }

    /// Answers from rows in memory. Pass a slice, or any iterator of rows or references.
    ///
    /// The query makes one pass over the rows. Its memory use grows with the page size, not with the number
    /// of rows.
    ///
    /// # Errors
    ///
    /// Returns `VALIDATION_INVALID_VALUE` if `group_by` produces more than 10,000 groups.
    pub fn run<R: Row<T>>(
        &self,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Page<T>, OperationError> {
        self.answered(memory::run::<T, R>(&self.plan, T::model(), rows)?)
    }

    /// Answers like [`run`](Self::run), from rows that your search engine found for [the caller's search
    /// string](crate::TextQuery::as_written).
    ///
    /// The rows are not searched again. Pass them in order of relevance, best first. They keep this order
    /// unless the caller requests another. Without a search string they are ordered as by [`run`](Self::run).
    /// The search runs again for the next page, so it should be deterministic.
    ///
    /// With [`with_free_text`](crate::Capabilities::with_free_text) the caller can send a whole question. Use
    /// this method for it, because [`run`](Self::run) only searches for its first words.
    ///
    /// ```
    /// use mcp_aql::prelude::*;
    /// use mcp_aql::query::Capabilities;
    /// # use serde::Serialize;
    ///
    /// /// A web page.
    /// #[derive(Clone, Serialize, JsonSchema, Resource)]
    /// struct Finding {
    ///     /// Address of the page.
    ///     #[resource(id)]
    ///     address: String,
    ///     /// Content of the page.
    ///     #[resource(search)]
    ///     text: String,
    /// }
    ///
    /// /// Search the web.
    /// #[operation(category = "READ", example = { "query": "feline" })]
    /// fn search_web(
    ///     #[query(backend = Capabilities::all().with_free_text())] query: CollectionQuery<Finding>,
    /// ) -> Result<Page<Finding>, OperationError> {
    ///     let words = query.plan().text.as_ref().map_or("", |text| text.as_written());
    ///     query.run_ranked(engine(words))
    /// }
    /// # /// A search engine that knows synonyms.
    /// # fn engine(_words: &str) -> Vec<Finding> {
    /// #     [("b", "Cats"), ("a", "A cat")]
    /// #         .map(|(address, text)| Finding { address: address.into(), text: text.into() })
    /// #         .into()
    /// # }
    /// # fn main() -> mcp_aql::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let adapter = Adapter::builder("web").operation(search_web {}).without_config().build()?;
    /// # let found = adapter.call("search_web", serde_json::json!({ "query": "Feline?" })).await;
    /// # assert_eq!(found.data()["items"][0]["text"], "Cats");
    /// # assert_eq!(found.data()["items"][1]["text"], "A cat");
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`run`](Self::run).
    pub fn run_ranked<R: Row<T>>(
        &self,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Page<T>, OperationError> {
        self.answered(memory::run_ranked::<T, R>(&self.plan, T::model(), rows)?)
    }

    fn answered<R: Row<T>>(&self, found: memory::Found<R>) -> Result<Page<T>, OperationError> {
        let rows = found.rows.into_iter().map(|(row, values)| (row.into_row(), values)).collect();
        let total = self.plan.include_total_count.then_some(found.total);
        Ok(self.build_page(rows, total, found.aggregations))
    }
}

/// Returns a view that shows rows of a resource according to the selection.
pub(crate) fn view_of<T: Resource>(selection: Arc<Selection>) -> View<T> {
    View { selection, computed: computed::<T> }
}

/// Computes the values of a selection's computed fields.
fn computed<T: Resource>(
    row: &T,
    selection: &Selection,
) -> Result<Map<String, Value>, serde_json::Error> {
    let model = T::model();
    let fields = selection.computed.iter().filter_map(|place| model.at(*place));
    fields
        .map(|(info, column)| {
            let name = info.path.split_once('.').map_or(info.path.as_str(), |(_, name)| name);
            let mut value = column.json(row)?;
            if info.single {
                shorten(&mut value);
            }
            Ok((name.to_owned(), value))
        })
        .collect()
}

/// Restores the short form of 32-bit numbers, because JSON values hold them in 64 bits: 0.1 instead of
/// 0.10000000149.
fn shorten(value: &mut Value) {
    match value {
        Value::Array(entries) => entries.iter_mut().for_each(shorten),
        value => {
            #[expect(clippy::cast_possible_truncation, reason = "it was one of 32 bits")]
            let short = value.as_f64().map(|number| widened(number as f32));
            if let Some(number) = short.and_then(Number::from_f64) {
                *value = Value::Number(number);
            }
        }
    }
}

impl<T: IdentifiedResource> QueryArgument for CollectionQuery<T> {
    fn table(options: &QueryOptions) -> QueryTable {
        description::collection(&QuerySurface::new(
            T::model().schema(),
            options,
            &options.backend(),
        ))
    }

    fn read(options: &QueryOptions, given: &mut QueryParams<'_>) -> Result<Self, OperationError> {
        let surface = QuerySurface::new(T::model().schema(), options, given.capabilities);
        Ok(Self { plan: read_plan(&surface, given)?, resource: PhantomData })
    }
}
