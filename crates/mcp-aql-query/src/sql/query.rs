//! One query of a table, with settings for one call.

use std::fmt;

use chrono::{DateTime, Utc};
use mcp_aql_core::Page;
use sea_query::Expr;

use super::{SqlError, SqlRecord, SqlTable, SqlValue, Statement, Steps};
use crate::collection::CollectionQuery;
use crate::resource::Resource;

/// One query of a table.
///
/// A query executes one statement for rows, one for the count if pages report it, and one for each field by
/// which aggregates group. If the page, count and aggregates must be consistent, execute them in one
/// transaction with a single snapshot: any transaction in SQLite, `REPEATABLE READ` in PostgreSQL.
pub struct SqlQuery<'a, T: 'static> {
    pub(super) table: &'a SqlTable<T>,
    pub(super) query: &'a CollectionQuery<T>,
    pub(super) scope: Vec<Expr>,
    pub(super) now: DateTime<Utc>,
}

impl<T> fmt::Debug for SqlQuery<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqlQuery").field("table", self.table).finish_non_exhaustive()
    }
}

impl<'a, T: Resource> SqlQuery<'a, T> {
    /// Adds a condition to this query, for example on the tenant. Rows that do not satisfy it are never
    /// returned, counted or aggregated, regardless of the request.
    ///
    /// ```
    /// use mcp_aql::query::sql::sea_query::{Expr, ExprTrait as _};
    /// use mcp_aql::query::sql::{SqlError, SqlTable, Steps};
    /// use mcp_aql::query::{CollectionQuery, Resource};
    ///
    /// /// Starts a query for the rows of one tenant.
    /// fn of_tenant<'a, T: Resource>(
    ///     table: &'a SqlTable<T>,
    ///     query: &'a CollectionQuery<T>,
    ///     tenant: &str,
    /// ) -> Result<Steps<'a, T>, SqlError> {
    ///     table.query(query).scope(Expr::col("tenant").eq(tenant)).steps()
    /// }
    /// ```
    #[must_use]
    pub fn scope(mut self, condition: Expr) -> Self {
        self.scope.push(condition);
        self
    }

    /// Sets the time of the query. The default is the current time.
    #[must_use]
    pub fn at(mut self, now: DateTime<Utc>) -> Self {
        self.now = now;
        self
    }

    /// Converts the query into statements. Use this to run the statements yourself; [`run`](Self::run) and
    /// [`run_async`](Self::run_async) do it for you.
    ///
    /// # Errors
    ///
    /// Returns an error if the query cannot be expressed in SQL, or exceeds a limit.
    pub fn steps(self) -> Result<Steps<'a, T>, SqlError> {
        self.table.check()?;
        let context = self.table.context(self.now);
        Steps::new(&context, self.query.plan(), &self.scope, self.table.finish)
    }

    /// Answers the query. `execute` runs each statement.
    ///
    /// # Errors
    ///
    /// Returns the errors of `execute`, and [`SqlError`].
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

    /// Answers the query. `execute` runs each statement. The future is `Send` if the futures of `execute`
    /// are.
    ///
    /// # Errors
    ///
    /// Returns the errors of `execute`, and [`SqlError`].
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
