//! Collections in SQLite and PostgreSQL: a query becomes parameterized statements, and the database
//! filters, searches, sorts, pages and aggregates.

mod column_type;
mod condition;
mod context;
mod database;
mod database_error;
mod diagnosis;
mod dialect;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod drivers;
mod error;
mod foreign_keys;
mod foreign_value;
mod in_memory_finish;
mod layout;
mod new_numbers;
mod order;
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
mod stored_value;
mod summary;
mod value;
mod wait_limits;

#[cfg(test)]
mod tests;

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
pub use error::SqlError;
pub use record::SqlRecord;
pub use record_change::RecordChange;
/// The builder for custom expressions.
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
    /// The problems of the mapping, once they were determined.
    problems: OnceLock<Vec<String>>,
    /// The name of the number of a row, if it breaks ties, once a store has determined it.
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
    /// Describes the table with this name. Each field of `T` is in the column of its JSON name by
    /// default.
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

    /// Sets the column of a field that has another name. A nested field, `metadata.owner`, is read
    /// from the JSON document of the field around it, unless this sets its own column.
    #[must_use]
    pub fn column(mut self, path: impl Into<String>, column: impl Into<String>) -> Self {
        self.mapping.columns.insert(path.into(), column.into());
        self
    }

    /// Sets the column with the [folded](crate::fold_text) text of a searchable field, or with
    /// the joined folded texts of a list. Text search reads this column.
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

    /// Sets the type of a column, if the field's type suggests another one. In PostgreSQL: an enum, `uuid`, `citext` or
    /// any other type that is converted to text and back; an array, `text[]`, for a list; `timestamp`, in UTC, for an
    /// instant. In SQLite: `datetime`, an instant in UTC as its functions write it, `2031-05-06 07:00:00`.
    #[must_use]
    pub fn column_type(mut self, path: impl Into<String>, name: &str) -> Self {
        self.mapping.types.insert(path.into(), SqlType::of(name));
        self
    }

    /// Sets the SQL expression of a computed field, or of a field without a column. Its result must
    /// have the field's type: a boolean, an integer, text.
    #[must_use]
    pub fn expression(
        mut self,
        path: impl Into<String>,
        expression: impl Fn(&Now) -> Expr + Send + Sync + 'static,
    ) -> Self {
        self.mapping.expressions.insert(path.into(), Box::new(expression));
        self
    }

    /// Adds a condition that applies to all rows, counts and aggregates (REQ-AGG-06), for instance
    /// to hide rows that were deleted softly. Conditions that depend on the caller belong to
    /// [`SqlQuery::scope`].
    #[must_use]
    pub fn scope(mut self, condition: impl Fn(&Now) -> Expr + Send + Sync + 'static) -> Self {
        self.mapping.scope.push(Box::new(condition));
        self
    }

    /// Processes in memory the parts without SQL: computed fields without an
    /// [`expression`](Self::expression), and search without [`search_column`](Self::search_column).
    ///
    /// Selecting a computed field loads the whole row instead of some columns. Filtering, sorting,
    /// searching and aggregating without SQL loads all rows that the rest of the filter accepts.
    /// Without this option, [`capabilities`](Self::capabilities) excludes these fields.
    #[must_use]
    pub fn in_memory_fallback(mut self) -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        self.finish = Some(InMemoryFinish::NEW);
        self
    }

    /// The query capabilities of this table: the `backend` of an operation's `#[query(…)]`. It
    /// includes the problems that [`check`](Self::check) finds, for `build()` to report.
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
    /// [`SqlError::Table`] with all problems.
    pub fn check(&self) -> Result<(), SqlError> {
        let problems = self.problems();
        if problems.is_empty() { Ok(()) } else { Err(SqlError::Table(problems.to_vec())) }
    }

    /// The problems of the description.
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
                problems.push(format!("`{path}` has a search column and is not marked `search`"));
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
                    "`{outer}` is spread over columns, and `{}` has none: give it a column, or \
                     `{outer}` one for its whole",
                    field.path
                ));
            }
            if field.path.contains('"') {
                problems
                    .push(format!("`{}` cannot be a path in JSON: give it a column", field.path));
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
    /// The errors of `execute`, and [`SqlError`].
    pub fn run<E: From<SqlError>>(
        &self,
        query: &CollectionQuery<T>,
        execute: impl FnMut(&Statement) -> Result<Vec<Vec<SqlValue>>, E>,
    ) -> Result<Page<SqlRecord<T>>, E> {
        self.query(query).run(execute)
    }

    /// Answers a query. `execute` runs each statement. The future is `Send` if those of `execute`
    /// are.
    ///
    /// # Errors
    /// The errors of `execute`, and [`SqlError`].
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

/// One query of a table.
///
/// Executes one statement for rows, one for the count if pages report it, and one for each field
/// by which aggregates group. To make page, count and aggregates consistent, execute them in one
/// transaction with a single snapshot: any transaction in SQLite, `REPEATABLE READ` in PostgreSQL.
pub struct SqlQuery<'a, T: 'static> {
    table: &'a SqlTable<T>,
    query: &'a CollectionQuery<T>,
    scope: Vec<Expr>,
    now: DateTime<Utc>,
}

impl<T> fmt::Debug for SqlQuery<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqlQuery").field("table", self.table).finish_non_exhaustive()
    }
}

impl<'a, T: Resource> SqlQuery<'a, T> {
    /// Adds a condition to this query, for instance on the tenant. Rows that do not satisfy it are
    /// never returned, counted or aggregated, regardless of the request.
    #[must_use]
    pub fn scope(mut self, condition: Expr) -> Self {
        self.scope.push(condition);
        self
    }

    /// Sets the time of the query; the default is the current time.
    #[must_use]
    pub fn at(mut self, now: DateTime<Utc>) -> Self {
        self.now = now;
        self
    }

    /// Converts the query into statements.
    ///
    /// # Errors
    /// If the query has no SQL, or exceeds a limit.
    pub fn steps(self) -> Result<Steps<'a, T>, SqlError> {
        self.table.check()?;
        let context = self.table.context(self.now);
        Steps::new(&context, self.query.plan(), &self.scope, self.table.finish)
    }

    /// Answers the query. `execute` runs each statement.
    ///
    /// # Errors
    /// The errors of `execute`, and [`SqlError`].
    pub fn run<E: From<SqlError>>(
        self,
        mut execute: impl FnMut(&Statement) -> Result<Vec<Vec<SqlValue>>, E>,
    ) -> Result<Page<SqlRecord<T>>, E> {
        let mut steps = self.steps()?;
        while let Some(statement) = steps.next_statement() {
            steps.push_rows(execute(&statement)?)?;
        }
        Ok(steps.finish()?)
    }

    /// Answers the query. `execute` runs each statement. The future is `Send` if those of `execute`
    /// are.
    ///
    /// # Errors
    /// The errors of `execute`, and [`SqlError`].
    pub fn run_async<E, F>(
        self,
        mut execute: impl FnMut(Statement) -> F,
    ) -> impl Future<Output = Result<Page<SqlRecord<T>>, E>>
    where
        E: From<SqlError>,
        F: Future<Output = Result<Vec<Vec<SqlValue>>, E>>,
    {
        let steps = self.steps();
        async move {
            let mut steps = steps?;
            while let Some(statement) = steps.next_statement() {
                let rows = execute(statement).await?;
                steps.push_rows(rows)?;
            }
            Ok(steps.finish()?)
        }
    }
}
