//! Collections in SQLite and PostgreSQL.
//!
//! A query becomes parameterized statements. The database filters, searches, sorts, pages and aggregates.

mod column_type;
mod condition;
mod context;
mod database;
mod database_error;
mod diagnosis;
mod dialect;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod drivers;
mod encoding_check;
mod error;
mod float_test;
mod foreign_keys;
mod foreign_value;
mod in_memory_finish;
mod layout;
mod new_numbers;
mod order;
mod query;
mod record;
mod record_change;
mod record_lookup;
mod record_reader;
mod record_statements;
mod refusal;
mod row_number;
mod statements;
mod steps;
mod store;
mod stored_document;
mod stored_value;
mod summary;
mod value;
mod wait_limits;
mod written_value;

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use context::Now;
pub use database::{AccessMode, Database, Transaction};
pub use database_error::{DatabaseError, PostgresReport, Violation};
pub use dialect::{Dialect, Storage};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub use drivers::*;
#[doc(hidden)]
pub use encoding_check::EncodingCheck;
pub use error::SqlError;
pub use query::SqlQuery;
pub use record::SqlRecord;
pub use record_change::RecordChange;
/// The builder for your own SQL expressions.
pub use sea_query;
pub use steps::Steps;
pub use store::SqlStore;
pub use value::{SqlValue, Statement};
pub use wait_limits::WaitLimits;
#[doc(hidden)]
pub use wait_limits::{Turn, Writers};

use mcp_aql_core::Page;

use super::capabilities::Capabilities;
use super::collection::CollectionQuery;
use super::resource::Resource;
use super::value::ValueKind;
use column_type::SqlType;
use context::{Context, Mapping};
use in_memory_finish::InMemoryFinish;
use sea_query::Expr;

#[doc = include_str!("table.md")]
pub struct SqlTable<T: 'static> {
    mapping: Mapping,
    finish: Option<InMemoryFinish<T>>,
    /// The problems of the mapping, determined on first use.
    problems: OnceLock<Vec<String>>,
    /// Name of the database's row-number column, if it breaks ties. Set by the store.
    row_number: OnceLock<Option<&'static str>>,
}

impl<T> fmt::Debug for SqlTable<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let finishes = self.finish.is_some();
        formatter
            .debug_struct("SqlTable")
            .field("mapping", &self.mapping)
            .field("in_memory_fallback", &finishes)
            .finish()
    }
}

impl<T: Resource> SqlTable<T> {
    /// Describes the table with this name. By default, each field of `T` is stored in a column with its JSON
    /// name.
    pub fn new(dialect: Dialect, table: impl Into<String>) -> Self {
        Self {
            mapping: Mapping {
                dialect,
                schema: None,
                table: table.into(),
                columns: HashMap::new(),
                folded: HashMap::new(),
                storage: HashMap::new(),
                types: HashMap::new(),
                expressions: HashMap::new(),
                scope: Vec::new(),
            },
            finish: None,
            problems: OnceLock::new(),
            row_number: OnceLock::new(),
        }
    }

    /// Sets the schema of the table.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.mapping.schema = Some(schema.into());
        self
    }

    /// Sets the column of a field with another name.
    ///
    /// A nested field such as `metadata.owner` is read from the JSON document of the field around it. Call
    /// this method to read it from a column of its own.
    #[must_use]
    pub fn column(mut self, path: impl Into<String>, column: impl Into<String>) -> Self {
        self.mapping.columns.insert(path.into(), column.into());
        self
    }

    /// Sets the column used for text search in a field. It contains the [folded](crate::fold_text) string of
    /// the field, or the joined folded strings of a list.
    #[must_use]
    pub fn search_column(mut self, path: impl Into<String>, column: impl Into<String>) -> Self {
        self.mapping.folded.insert(path.into(), column.into());
        self
    }

    /// Sets the storage format of a date or an instant.
    #[must_use]
    pub fn stored_as(mut self, path: impl Into<String>, storage: Storage) -> Self {
        self.mapping.storage.insert(path.into(), storage);
        self
    }

    /// Sets the type of a column, if it is not the default for the field.
    ///
    /// | database | types |
    /// |---|---|
    /// | PostgreSQL | an enum, `uuid`, `citext` or any other type that converts to a string and back |
    /// | | an array such as `text[]`, for a list |
    /// | | `timestamp` in UTC, for an instant |
    /// | SQLite | `datetime`, for an instant in UTC in the format of SQLite's functions, `2031-05-06 07:00:00` |
    #[must_use]
    pub fn column_type(mut self, path: impl Into<String>, name: &str) -> Self {
        self.mapping.types.insert(path.into(), SqlType::of(name));
        self
    }

    /// Sets the SQL expression of a computed field, or of a field without a column. Its result must have the
    /// type of the field, for example boolean, integer or string.
    ///
    /// ```
    /// use mcp_aql::query::Resource;
    /// use mcp_aql::query::sql::sea_query::{Expr, ExprTrait as _};
    /// use mcp_aql::query::sql::{SqlTable, Storage};
    ///
    /// fn with_is_overdue<T: Resource>(table: SqlTable<T>) -> SqlTable<T> {
    ///     table.expression("_computed.is_overdue", |now| {
    ///         Expr::col("due_at").lt(now.to_expr(Storage::UnixMillis))
    ///     })
    /// }
    /// ```
    #[must_use]
    pub fn expression(
        mut self,
        path: impl Into<String>,
        expression: impl Fn(&Now) -> Expr + Send + Sync + 'static,
    ) -> Self {
        self.mapping.expressions.insert(path.into(), Box::new(expression));
        self
    }

    /// Adds a condition for all rows, counts and aggregates (REQ-AGG-06), for example to hide soft-deleted
    /// rows.
    ///
    /// Use [`SqlQuery::scope`] for conditions that depend on the caller.
    ///
    /// ```
    /// use mcp_aql::query::Resource;
    /// use mcp_aql::query::sql::SqlTable;
    /// use mcp_aql::query::sql::sea_query::{Expr, ExprTrait as _};
    ///
    /// fn without_deleted<T: Resource>(table: SqlTable<T>) -> SqlTable<T> {
    ///     table.scope(|_now| Expr::col("is_deleted").eq(0_i64))
    /// }
    /// ```
    #[must_use]
    pub fn scope(mut self, condition: impl Fn(&Now) -> Expr + Send + Sync + 'static) -> Self {
        self.mapping.scope.push(Box::new(condition));
        self
    }

    /// Processes the parts of a query without SQL in memory: computed fields without an
    /// [`expression`](Self::expression), and search without a [`search_column`](Self::search_column).
    ///
    /// Consider the cost: to select a computed field, the whole row is loaded instead of some columns. To
    /// filter, sort, search or aggregate without SQL, all rows that satisfy the rest of the filter are
    /// loaded. Without this option, [`capabilities`](Self::capabilities) exclude these fields.
    #[must_use]
    pub fn in_memory_fallback(mut self) -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        self.finish = Some(InMemoryFinish::NEW);
        self
    }

    /// Returns the query capabilities of this table. Use them as `backend` of an operation's `#[query(…)]`.
    ///
    /// They include the problems found by [`check`](Self::check), so that `build()` reports them.
    pub fn capabilities(&self) -> Capabilities {
        let mut capabilities =
            self.problems().iter().fold(Capabilities::all(), Capabilities::with_build_error);
        if self.finish.is_some() {
            return capabilities;
        }
        let context = self.context(Utc::now());
        for field in context.table.fields() {
            if context.source_of(field).is_none() {
                let path = field.path.as_str();
                capabilities =
                    capabilities.without_filter(path).without_sort(path).without_field(path);
            }
        }
        let mut searched = context.table.fields().iter().filter(|field| field.search);
        if searched.any(|field| !self.mapping.folded.contains_key(&field.path)) {
            capabilities = capabilities.without_search();
        }
        capabilities
    }

    /// Checks that the description fits the resource. Call it in a unit test.
    ///
    /// # Errors
    ///
    /// Returns [`SqlError::Table`] with all problems.
    pub fn check(&self) -> Result<(), SqlError> {
        let problems = self.problems();
        if problems.is_empty() { Ok(()) } else { Err(SqlError::Table(problems.to_vec())) }
    }

    /// Returns the problems of the description.
    pub(crate) fn problems(&self) -> &[String] {
        self.problems.get_or_init(|| self.find_problems())
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.mapping.dialect
    }

    fn find_problems(&self) -> Vec<String> {
        let table = T::model().schema();
        let mapping = &self.mapping;
        let mut problems = Vec::new();
        let paths = [&mapping.columns, &mapping.folded].into_iter().flat_map(HashMap::keys);
        let paths = paths.chain(mapping.storage.keys()).chain(mapping.expressions.keys());
        let paths = paths.chain(mapping.types.keys());
        for path in paths {
            if table.index_of(path).is_none() {
                problems.push(format!("`{}` has no field `{path}`", table.name()));
            }
        }
        for path in mapping.folded.keys() {
            let searched = |place| table.field(place).is_some_and(|field| field.search);
            if table.index_of(path).is_some_and(|place| !searched(place)) {
                problems.push(format!("`{path}` has a search column: mark it `search`"));
            }
        }
        for (path, kind) in &mapping.types {
            if !kind.is_of(mapping.dialect) {
                problems.push(format!("`{path}` has a `column_type` of another database"));
            }
        }
        for (path, storage) in &mapping.storage {
            let kind = table.index_of(path).and_then(|place| table.field(place)).map(|it| it.kind);
            let fits = match (kind, storage) {
                (None, _) => true,
                (Some(ValueKind::Date | ValueKind::Instant), Storage::Native) => {
                    mapping.dialect == Dialect::Postgres
                }
                (Some(ValueKind::Date | ValueKind::Instant), Storage::Text) => true,
                (Some(kind), _) => kind == ValueKind::Instant,
            };
            if !fits {
                problems.push(format!("`{path}` cannot be stored as {storage:?}"));
            }
        }
        for field in table.fields() {
            let Some((outer, _)) = field.path.rsplit_once('.').filter(|_| !field.computed) else {
                continue;
            };
            let own = |path: &str| {
                mapping.columns.contains_key(path) || mapping.expressions.contains_key(path)
            };
            if mapping.is_spread(outer) && !own(&field.path) && !mapping.is_spread(&field.path) {
                problems.push(format!(
                    "`{outer}` is stored in several columns, but `{}` has none: set a column for it, or one \
                     for all of `{outer}`",
                    field.path
                ));
            }
            if field.path.contains('"') {
                problems.push(format!("`{}` cannot be a path in JSON: set its column", field.path));
            }
        }
        problems.sort_unstable();
        problems.dedup();
        problems
    }

    /// Creates a query of the table with settings for one call.
    pub fn query<'a>(&'a self, query: &'a CollectionQuery<T>) -> SqlQuery<'a, T> {
        SqlQuery { table: self, query, scope: Vec::new(), now: Utc::now() }
    }

    /// Answers a query. `execute` runs each statement.
    ///
    /// # Errors
    ///
    /// Returns the errors of `execute`, and [`SqlError`].
    pub fn run<E: From<SqlError>>(
        &self,
        query: &CollectionQuery<T>,
        execute: impl FnMut(&Statement) -> Result<Vec<Vec<SqlValue>>, E>,
    ) -> Result<Page<SqlRecord<T>>, E> {
        self.query(query).run(execute)
    }

    /// Answers a query. `execute` runs each statement. The future is `Send` if the futures of `execute` are.
    ///
    /// # Errors
    ///
    /// Returns the errors of `execute`, and [`SqlError`].
    pub async fn run_async<E, F>(
        &self,
        query: &CollectionQuery<T>,
        execute: impl FnMut(Statement) -> F,
    ) -> Result<Page<SqlRecord<T>>, E>
    where
        E: From<SqlError>,
        F: Future<Output = Result<Vec<Vec<SqlValue>>, E>>,
    {
        self.query(query).run_async(execute).await
    }

    /// Adds a warning to the reply of a query whose filter no row can satisfy.
    fn warn_of_unmatched(&self, query: &CollectionQuery<T>) {
        let plan = query.plan();
        let context = self.context(Utc::now());
        let unmatched = plan.filter.as_ref().and_then(|filter| context.unmatched(filter));
        unmatched.into_iter().for_each(|path| plan.odd.add_unmatched(path));
    }

    fn context(&self, now: DateTime<Utc>) -> Context<'_> {
        let dialect = self.mapping.dialect;
        Context {
            mapping: &self.mapping,
            table: T::model().schema(),
            now: Now { dialect, instant: now },
            row_number: self.row_number.get().copied().flatten(),
        }
    }
}

#[cfg(test)]
mod tests;
