//! SQLite through sqlx.

use std::fmt;
use std::sync::Arc;

use mcp_aql_query::sql::{
    AccessMode, Database, DatabaseError, Dialect, SqlValue, Statement, Transaction, WaitLimits,
};
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{
    Arguments as _, AssertSqlSafe, Either, Executor as _, Row as _, SqlSafeStr as _, Sqlite,
    SqliteConnection, SqlitePool, Statement as _, TypeInfo as _, ValueRef as _,
};

use crate::open::{Open, failure};

/// A SQLite database for `SqlStore`, in a pool of sqlx. Clones share it.
///
/// Calls that change records wait for each other in SQLite, until the `busy_timeout` of the pool's options
/// expires. All calls wait for a connection of the pool, until [`WaitLimits::connection`] expires.
///
/// For a database in memory, you need a pool with one connection that is never closed:
///
/// ```
/// use mcp_aql::prelude::*;
/// use mcp_aql::query::sql::{Dialect, SqlTable};
/// use mcp_aql::resource::SqlStore;
/// use mcp_aql_sqlx::SqlxSqlite;
/// use serde::{Deserialize, Serialize};
/// use sqlx::sqlite::SqlitePoolOptions;
///
/// /// An article.
/// #[derive(Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
/// #[resource(operations)]
/// struct Article {
///     /// Number of the article.
///     #[resource(id)]
///     article_id: u32,
///     /// Name of the article.
///     #[resource(filter, sort)]
///     name: String,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
/// let pool = options.connect("sqlite::memory:").await?;
/// sqlx::query("CREATE TABLE article (article_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL)")
///     .execute(&pool)
///     .await?;
///
/// let table = SqlTable::new(Dialect::Sqlite, "article");
/// let articles = SqlStore::<Article, _>::new(table, SqlxSqlite::new(pool));
/// let adapter = Adapter::builder("shop").resource(articles).build()?;
///
/// let params = serde_json::json!({ "name": "Tea" });
/// let created = adapter.call("create_article", params).await;
/// assert_eq!(created.data()["article"]["article_id"], 1);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SqlxSqlite {
    pool: SqlitePool,
    limits: WaitLimits,
}

impl SqlxSqlite {
    /// Uses the connections of your pool.
    pub fn new(pool: SqlitePool) -> Self {
        Self { pool, limits: WaitLimits::default() }
    }

    /// Sets how long to wait for a connection of the pool. The other limits have no effect: the timeout for a lock is
    /// the `busy_timeout` of the pool's options, and statements have no timeout.
    #[must_use]
    pub const fn wait_limits(mut self, limits: WaitLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for SqlxSqlite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqlxSqlite").finish_non_exhaustive()
    }
}

impl Database for SqlxSqlite {
    const DIALECT: Dialect = Dialect::Sqlite;

    type Transaction = SqlxSqliteTransaction;

    fn identity(&self) -> usize {
        // All clones of a pool share its options.
        std::ptr::from_ref(self.pool.options()).addr()
    }

    async fn begin(&self, access: AccessMode) -> Result<SqlxSqliteTransaction, DatabaseError> {
        let begin = match access {
            AccessMode::Read => "BEGIN",
            AccessMode::Write => "BEGIN IMMEDIATE",
        };
        // No connection may be closed, because a database in memory is lost with its last connection.
        let begin = begin.into_sql_str();
        let open = Open::begin(&self.pool, &self.limits, begin, (None, classify)).await?;
        Ok(SqlxSqliteTransaction { open, access })
    }
}

/// A transaction of a [`SqlxSqlite`].
///
/// ```
/// use mcp_aql::query::sql::{SqlValue, Statement};
/// use mcp_aql::resource::{AccessMode, Database, DatabaseError, Transaction};
/// use mcp_aql_sqlx::SqlxSqlite;
///
/// /// Counts the orders.
/// async fn count(database: &SqlxSqlite) -> Result<SqlValue, DatabaseError> {
///     let mut transaction = database.begin(AccessMode::Read).await?;
///     let sql = "SELECT count(*) FROM orders".to_owned();
///     let rows = transaction.run(Statement { sql, values: Vec::new() }).await?;
///     transaction.commit().await?;
///     Ok(rows.concat().pop().unwrap_or(SqlValue::Null))
/// }
/// ```
pub struct SqlxSqliteTransaction {
    open: Open<Sqlite>,
    access: AccessMode,
}

impl fmt::Debug for SqlxSqliteTransaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqlxSqliteTransaction").finish_non_exhaustive()
    }
}

impl Transaction for SqlxSqliteTransaction {
    async fn run(&mut self, statement: Statement) -> Result<Vec<Vec<SqlValue>>, DatabaseError> {
        let rows = run(self.open.start()?, statement).await;
        self.open.stop();
        rows?.iter().map(read).collect()
    }

    async fn commit(self) -> Result<(), DatabaseError> {
        self.open.commit(self.access).await
    }
}

async fn run(
    connection: &mut SqliteConnection,
    statement: Statement,
) -> Result<Vec<SqliteRow>, DatabaseError> {
    // The values are not part of the SQL, so it is safe.
    let sql = AssertSqlSafe(Arc::<str>::from(statement.sql)).into_sql_str();
    let prepared = connection.prepare(sql).await.map_err(refused)?;
    // Check the number, because SQLite would use NULL for a missing value.
    if prepared.parameters().is_some_and(|it| it != Either::Right(statement.values.len())) {
        return Err("a statement has more or fewer parameters than values".into());
    }
    let arguments = arguments(statement.values)?;
    prepared.query_with(arguments).fetch_all(connection).await.map_err(refused)
}

fn arguments(values: Vec<SqlValue>) -> Result<SqliteArguments, BoxDynError> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        match value {
            SqlValue::Null => arguments.add(None::<i64>)?,
            SqlValue::Bool(value) => arguments.add(value)?,
            SqlValue::Int(value) => arguments.add(value)?,
            SqlValue::Float(value) => arguments.add(value)?,
            SqlValue::Text(text) => arguments.add(text)?,
            SqlValue::Bytes(bytes) | SqlValue::RawText(bytes) => arguments.add(bytes)?,
        }
    }
    Ok(arguments)
}

fn read(row: &SqliteRow) -> Result<Vec<SqlValue>, DatabaseError> {
    let value = |column| {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(SqlValue::Null);
        }
        // This is the type of the value, not the type of the column.
        Ok(match value.type_info().name() {
            "INTEGER" => SqlValue::Int(row.try_get_unchecked(column)?),
            "REAL" => SqlValue::Float(row.try_get_unchecked(column)?),
            "TEXT" => match row.try_get_unchecked::<&[u8], _>(column).map(std::str::from_utf8)? {
                Ok(text) => SqlValue::Text(text.to_owned()),
                Err(_) => SqlValue::RawText(row.try_get_unchecked(column)?),
            },
            _ => SqlValue::Bytes(row.try_get_unchecked(column)?),
        })
    };
    (0..row.len()).map(value).collect()
}

fn refused(error: sqlx::Error) -> DatabaseError {
    failure(error, classify)
}

fn classify(cause: Box<dyn sqlx::error::DatabaseError>) -> DatabaseError {
    // The extended code.
    let code = cause.code().and_then(|code| code.parse().ok()).unwrap_or_default();
    let message = cause.message().to_owned();
    DatabaseError::of_sqlite(code, &message, cause)
}
