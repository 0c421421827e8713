//! PostgreSQL through sqlx.

use std::fmt;
use std::sync::Arc;

use mcp_aql_query::sql::{
    AccessMode, Database, DatabaseError, Dialect, EncodingCheck, PostgresReport, SqlValue,
    Statement, Transaction, Turn, WaitLimits, Writers,
};
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgColumn, PgDatabaseError, PgRow, PgTypeInfo};
use sqlx::{
    Arguments as _, AssertSqlSafe, Column as _, Either, Executor as _, PgConnection, PgPool,
    Postgres, Row as _, SqlSafeStr as _, Statement as _, Type, TypeInfo as _,
};

use crate::open::{Open, answer, failure};

/// A PostgreSQL database for `SqlStore`, in a pool of sqlx. Clones share it.
///
/// ```no_run
/// use mcp_aql::prelude::*;
/// use mcp_aql::query::sql::{Dialect, SqlTable};
/// use mcp_aql::resource::SqlStore;
/// use mcp_aql_sqlx::SqlxPostgres;
/// use serde::{Deserialize, Serialize};
/// use sqlx::PgPool;
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
/// # async fn adapter() -> Result<Adapter, Box<dyn std::error::Error>> {
/// let pool = PgPool::connect("postgres://shop@localhost/shop").await?;
/// let table = SqlTable::new(Dialect::Postgres, "article");
/// let articles = SqlStore::<Article, _>::new(table, SqlxPostgres::new(pool));
/// let adapter = Adapter::builder("shop").resource(articles).build()?;
/// # Ok(adapter) }
/// ```
#[derive(Clone)]
pub struct SqlxPostgres {
    pool: PgPool,
    writers: Writers,
    limits: WaitLimits,
    encoding: EncodingCheck,
}

impl SqlxPostgres {
    /// Uses the connections of your pool. At most half of them change records at the same time. The others
    /// stay available for reading while changes wait for locks.
    pub fn new(pool: PgPool) -> Self {
        let connections = pool.options().get_max_connections();
        let writers = Writers::of_pool(usize::try_from(connections).unwrap_or(usize::MAX));
        Self { pool, writers, limits: WaitLimits::default(), encoding: EncodingCheck::default() }
    }

    /// Sets the timeouts of calls.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use mcp_aql::resource::WaitLimits;
    /// use mcp_aql_sqlx::SqlxPostgres;
    ///
    /// fn database(pool: sqlx::PgPool) -> SqlxPostgres {
    ///     SqlxPostgres::new(pool).wait_limits(WaitLimits::default().lock(Duration::from_secs(1)))
    /// }
    /// ```
    #[must_use]
    pub const fn wait_limits(mut self, limits: WaitLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for SqlxPostgres {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqlxPostgres").finish_non_exhaustive()
    }
}

impl Database for SqlxPostgres {
    const DIALECT: Dialect = Dialect::Postgres;

    type Transaction = SqlxPostgresTransaction;

    fn identity(&self) -> usize {
        // All clones of a pool share its options.
        std::ptr::from_ref(self.pool.options()).addr()
    }

    async fn begin(&self, access: AccessMode) -> Result<SqlxPostgresTransaction, DatabaseError> {
        let turn = self.writers.turn(access, &self.limits).await?;
        let limits = self.limits;
        // The SQL only contains numbers of this program, so it is safe.
        let begin = AssertSqlSafe(limits.begin_postgres(access)).into_sql_str();
        // A connection with a canceled call may have to wait for the server for a long time, so it is closed
        // instead.
        let open = Open::begin(&self.pool, &limits, begin, (Some(limits), classify)).await?;
        let mut transaction = SqlxPostgresTransaction { open, access, _turn: turn };
        self.encoding.run(&mut transaction).await?;
        Ok(transaction)
    }
}

/// A transaction of a [`SqlxPostgres`].
///
/// ```
/// use mcp_aql::query::sql::{SqlValue, Statement};
/// use mcp_aql::resource::{AccessMode, Database, DatabaseError, Transaction};
/// use mcp_aql_sqlx::SqlxPostgres;
///
/// /// Counts the orders.
/// async fn count(database: &SqlxPostgres) -> Result<SqlValue, DatabaseError> {
///     let mut transaction = database.begin(AccessMode::Read).await?;
///     let sql = "SELECT count(*) FROM orders".to_owned();
///     let rows = transaction.run(Statement { sql, values: Vec::new() }).await?;
///     transaction.commit().await?;
///     Ok(rows.concat().pop().unwrap_or(SqlValue::Null))
/// }
/// ```
pub struct SqlxPostgresTransaction {
    open: Open<Postgres>,
    access: AccessMode,
    /// The turn to write, held until the transaction ends.
    _turn: Turn,
}

impl fmt::Debug for SqlxPostgresTransaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SqlxPostgresTransaction").finish_non_exhaustive()
    }
}

impl Transaction for SqlxPostgresTransaction {
    async fn run(&mut self, statement: Statement) -> Result<Vec<Vec<SqlValue>>, DatabaseError> {
        // If the server does not answer, the call does not end, and its connection is closed.
        let server = self.open.server;
        let rows = answer(server, run(self.open.start()?, statement)).await?;
        self.open.stop();
        rows?.iter().map(read).collect()
    }

    async fn commit(self) -> Result<(), DatabaseError> {
        self.open.commit(self.access).await
    }
}

async fn run(
    connection: &mut PgConnection,
    statement: Statement,
) -> Result<Vec<PgRow>, DatabaseError> {
    // The values are not part of the SQL, so it is safe.
    let sql = AssertSqlSafe(Arc::<str>::from(statement.sql)).into_sql_str();
    // Preparing returns the types of the parameters, as inferred by the server.
    let prepared = connection.prepare(sql).await.map_err(refused)?;
    let types = match prepared.parameters() {
        Some(Either::Left(types)) => types,
        _ => &[],
    };
    let arguments = arguments(statement.values, types)?;
    prepared.query_with(arguments).fetch_all(connection).await.map_err(refused)
}

/// Returns the values of the parameters. They must have these types, because sqlx sends other values without
/// a conversion.
fn arguments(values: Vec<SqlValue>, types: &[PgTypeInfo]) -> Result<PgArguments, BoxDynError> {
    if values.len() != types.len() {
        return Err("a statement has more or fewer parameters than values".into());
    }
    let mut arguments = PgArguments::default();
    for (value, info) in values.into_iter().zip(types) {
        let fits = match &value {
            SqlValue::Null | SqlValue::Text(_) => <String as Type<Postgres>>::compatible(info),
            SqlValue::Bool(_) => <bool as Type<Postgres>>::compatible(info),
            SqlValue::Int(_) => <i64 as Type<Postgres>>::compatible(info),
            SqlValue::Float(_) => <f64 as Type<Postgres>>::compatible(info),
            SqlValue::Bytes(_) | SqlValue::RawText(_) => {
                <Vec<u8> as Type<Postgres>>::compatible(info)
            }
        };
        if !fits {
            return Err(format!("a value does not fit a parameter of the type {info}").into());
        }
        match value {
            SqlValue::Null => arguments.add(None::<String>)?,
            SqlValue::Bool(value) => arguments.add(value)?,
            SqlValue::Int(value) => arguments.add(value)?,
            SqlValue::Float(value) => arguments.add(value)?,
            SqlValue::Text(text) => arguments.add(text)?,
            SqlValue::Bytes(bytes) | SqlValue::RawText(bytes) => arguments.add(bytes)?,
        }
    }
    Ok(arguments)
}

fn read(row: &PgRow) -> Result<Vec<SqlValue>, DatabaseError> {
    let value = |(column, info): (usize, &PgColumn)| {
        let value = match info.type_info().name() {
            "BOOL" => row.try_get::<Option<bool>, _>(column)?.map(SqlValue::Bool),
            "INT4" => row.try_get::<Option<i32>, _>(column)?.map(|it| SqlValue::Int(it.into())),
            "INT8" => row.try_get::<Option<i64>, _>(column)?.map(SqlValue::Int),
            "FLOAT8" => row.try_get::<Option<f64>, _>(column)?.map(SqlValue::Float),
            _ => row.try_get::<Option<String>, _>(column)?.map(SqlValue::Text),
        };
        Ok(value.unwrap_or(SqlValue::Null))
    };
    row.columns().iter().enumerate().map(value).collect()
}

fn refused(error: sqlx::Error) -> DatabaseError {
    failure(error, classify)
}

fn classify(cause: Box<dyn sqlx::error::DatabaseError>) -> DatabaseError {
    let Some(found) = cause.try_downcast_ref::<PgDatabaseError>() else {
        return DatabaseError::Other(cause);
    };
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let (code, message) = (found.code().to_owned(), found.message().to_owned());
    let has_position = found.position().is_some();
    let [constraint, column, detail] =
        [found.constraint(), found.column(), found.detail()].map(owned);
    let report = PostgresReport {
        code: &code,
        message: &message,
        constraint: constraint.as_deref(),
        column: column.as_deref(),
        detail: detail.as_deref(),
        has_position,
    };
    DatabaseError::of_postgres(report, cause)
}
