//! PostgreSQL through `tokio-postgres` and `deadpool-postgres`.

use std::{fmt, io};

use deadpool_postgres::{Manager, Object, Pool, PoolError};
use mcp_aql_core::Error;
use tokio_postgres::types::{ToSql, Type};

use crate::sql::{
    AccessMode, Database, DatabaseError, Dialect, EncodingCheck, PostgresReport, SqlValue,
    Statement, Transaction, Turn, WaitLimits, Writers,
};

/// Number of prepared statements kept per connection.
const MAX_PREPARED: usize = 256;

/// A PostgreSQL database for [`SqlStore`](super::super::SqlStore), with a pool of connections.
///
/// At most half of the connections change records at the same time. The others stay available for reading
/// while changes wait for locks.
#[derive(Clone)]
pub struct PostgresDatabase {
    pool: Pool,
    writers: Writers,
    limits: WaitLimits,
    encoding: EncodingCheck,
}

impl PostgresDatabase {
    /// Connects to a database, `postgres://user:password@host/database`, without TLS. The pool has four
    /// connections per processor.
    ///
    /// Use [`new`](Self::new) with your own pool if you need TLS or other limits.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is malformed, the first connection fails, or the database has the encoding
    /// `SQL_ASCII`.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        let config = url.parse().map_err(Error::other)?;
        let manager = Manager::new(config, tokio_postgres::NoTls);
        let pool = Pool::builder(manager).build().map_err(Error::other)?;
        let database = Self::new(pool);
        // The first transaction checks the encoding.
        let ended = match database.begin(AccessMode::Read).await {
            Ok(first) => first.commit().await,
            Err(error) => Err(error),
        };
        ended.map_err(|error| Error::other(error.into_cause()))?;
        Ok(database)
    }

    /// Uses the connections of your own pool.
    pub fn new(pool: Pool) -> Self {
        let writers = Writers::of_pool(pool.status().max_size);
        Self { pool, writers, limits: WaitLimits::default(), encoding: EncodingCheck::default() }
    }

    /// Sets the timeouts of calls.
    #[must_use]
    pub const fn wait_limits(mut self, limits: WaitLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for PostgresDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresDatabase").finish_non_exhaustive()
    }
}

impl Database for PostgresDatabase {
    const DIALECT: Dialect = Dialect::Postgres;

    type Transaction = PostgresTransaction;

    fn identity(&self) -> usize {
        std::ptr::from_ref(self.pool.manager()).addr()
    }

    async fn begin(&self, access: AccessMode) -> Result<PostgresTransaction, DatabaseError> {
        let turn = self.writers.turn(access, &self.limits).await?;
        let connection = self.limits.connect(self.pool.get()).await?;
        let connection = connection.map_err(|error| match error {
            PoolError::Backend(cause) => failure(cause),
            PoolError::Timeout(_) => DatabaseError::Busy(error.into()),
            other => other.into(),
        })?;
        // The transaction owns the connection from here on, so that the connection is not returned to the
        // pool too early.
        let limits = self.limits;
        let mut transaction =
            PostgresTransaction { connection: Some(connection), limits, access, _turn: turn };
        let begin = limits.begin_postgres(access);
        let begun = limits.answer(transaction.connection()?.batch_execute(&begin)).await?;
        begun.map_err(failure)?;
        self.encoding.run(&mut transaction).await?;
        Ok(transaction)
    }
}

/// A transaction of a [`PostgresDatabase`].
pub struct PostgresTransaction {
    /// `None` after the end of the transaction.
    connection: Option<Object>,
    limits: WaitLimits,
    access: AccessMode,
    /// The turn to write, held until the transaction ends.
    _turn: Turn,
}

impl PostgresTransaction {
    fn connection(&self) -> Result<&Object, DatabaseError> {
        self.connection.as_ref().ok_or_else(|| "the transaction has ended".into())
    }
}

impl fmt::Debug for PostgresTransaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresTransaction").finish_non_exhaustive()
    }
}

impl Drop for PostgresTransaction {
    fn drop(&mut self) {
        // Closing the connection rolls back its open transaction.
        drop(self.connection.take().map(Object::take));
    }
}

impl Transaction for PostgresTransaction {
    async fn run(&mut self, statement: Statement) -> Result<Vec<Vec<SqlValue>>, DatabaseError> {
        let connection = self.connection()?;
        // Clear the cache, because it would grow without limit: the SQL of a statement depends on the
        // request.
        if connection.statement_cache.size() >= MAX_PREPARED {
            connection.statement_cache.clear();
        }
        let preparing = connection.prepare_cached(&statement.sql);
        let prepared = self.limits.answer(preparing).await?.map_err(failure)?;
        let values = statement.values.into_iter().map(|value| -> Box<dyn ToSql + Send + Sync> {
            match value {
                SqlValue::Null => Box::new(None::<String>),
                SqlValue::Bool(value) => Box::new(value),
                SqlValue::Int(value) => Box::new(value),
                SqlValue::Float(value) => Box::new(value),
                SqlValue::Text(text) => Box::new(text),
                SqlValue::Bytes(bytes) | SqlValue::RawText(bytes) => Box::new(bytes),
            }
        });
        let values: Vec<_> = values.collect();
        let values: Vec<_> = values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        let running = connection.query(&prepared, &values);
        let rows = self.limits.answer(running).await?.map_err(failure)?;
        rows.iter().map(read).collect()
    }

    async fn commit(mut self) -> Result<(), DatabaseError> {
        let committed = self.limits.answer(self.connection()?.batch_execute("COMMIT")).await;
        let cause = match committed {
            Ok(Ok(())) => {
                drop(self.connection.take());
                return Ok(());
            }
            Ok(Err(error)) if error.as_db_error().is_some() => return Err(failure(error)),
            Ok(Err(error)) => error.into(),
            Err(error) => error.into_cause(),
        };
        // The server has not answered, so the transaction may have been committed or rolled back.
        Err(match self.access {
            AccessMode::Read => DatabaseError::Busy(cause),
            AccessMode::Write => DatabaseError::Unknown(cause),
        })
    }
}

fn read(row: &tokio_postgres::Row) -> Result<Vec<SqlValue>, DatabaseError> {
    let value = |(column, info): (usize, &tokio_postgres::Column)| {
        let value = match *info.type_() {
            Type::BOOL => row.try_get::<_, Option<bool>>(column)?.map(SqlValue::Bool),
            Type::INT4 => row.try_get::<_, Option<i32>>(column)?.map(|it| SqlValue::Int(it.into())),
            Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map(SqlValue::Int),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(column)?.map(SqlValue::Float),
            _ => row.try_get::<_, Option<String>>(column)?.map(SqlValue::Text),
        };
        Ok(value.unwrap_or(SqlValue::Null))
    };
    row.columns().iter().enumerate().map(value).collect()
}

fn failure(error: tokio_postgres::Error) -> DatabaseError {
    let Some(cause) = error.as_db_error() else {
        let cause =
            std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>());
        let is_lost = error.is_closed() || cause.is_some_and(DatabaseError::is_of_network);
        return if is_lost { DatabaseError::Busy(error.into()) } else { error.into() };
    };
    let cause = cause.clone();
    let report = PostgresReport {
        code: cause.code().code(),
        message: cause.message(),
        constraint: cause.constraint(),
        column: cause.column(),
        detail: cause.detail(),
        has_position: cause.position().is_some(),
    };
    DatabaseError::of_postgres(report, error)
}
