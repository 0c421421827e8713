//! A connection with an open transaction.

use mcp_aql_query::sql::{DatabaseError, WaitLimits};
use sqlx::pool::PoolConnection;
use sqlx::{Executor, Pool, SqlSafeStr as _, SqlStr};
use tokio::runtime::Handle;

/// The error for a transaction whose call was cancelled.
const CANCELLED: &str = "the transaction has ended with a call that was cancelled";

/// A connection of a pool with an open transaction, which is rolled back when this value is dropped.
///
/// The transactions of sqlx are not used, for two reasons. If a call is cancelled while PostgreSQL begins one, its
/// connection returns to the pool with the transaction still open. If SQLite ends one by itself, for example because
/// the disk is full, sqlx cannot begin another one on its connection.
pub(crate) struct Open<DB: sqlx::Database>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// Missing after the end of the transaction.
    connection: Option<PoolConnection<DB>>,
    /// Whether a call has begun and has not ended.
    is_running: bool,
    /// Whether the connection is closed if its call was cancelled, or if it cannot roll back.
    may_close: bool,
    /// The errors of the database.
    classify: Classify,
}

/// Classifies an error of a database.
pub(crate) type Classify = fn(Box<dyn sqlx::error::DatabaseError>) -> DatabaseError;

impl<DB: sqlx::Database> Open<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// Begins a transaction.
    pub(crate) async fn begin(
        pool: &Pool<DB>,
        limits: &WaitLimits,
        begin: SqlStr,
        (may_close, classify): (bool, Classify),
    ) -> Result<Self, DatabaseError> {
        let acquired = limits.connect(pool.acquire()).await?;
        let connection = Some(acquired.map_err(|error| failure(error, classify))?);
        let mut open = Self { connection, is_running: false, may_close, classify };
        open.execute(begin).await?;
        Ok(open)
    }

    /// Ends the transaction and keeps its changes.
    pub(crate) async fn commit(mut self) -> Result<(), DatabaseError> {
        self.execute("COMMIT".into_sql_str()).await?;
        drop(self.connection.take());
        Ok(())
    }

    async fn execute(&mut self, sql: SqlStr) -> Result<(), DatabaseError> {
        let result = self.start()?.execute(sql).await;
        self.stop();
        result.map(drop).map_err(|error| failure(error, self.classify))
    }

    /// The connection for a call, which [`stop`](Self::stop) ends.
    pub(crate) fn start(&mut self) -> Result<&mut DB::Connection, DatabaseError> {
        if std::mem::replace(&mut self.is_running, true) {
            return Err(CANCELLED.into());
        }
        self.connection.as_deref_mut().ok_or_else(|| CANCELLED.into())
    }

    /// Ends a call.
    pub(crate) fn stop(&mut self) {
        self.is_running = false;
    }
}

impl<DB: sqlx::Database> Drop for Open<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        let Ok(runtime) = Handle::try_current() else {
            // Without a runtime, the connection can only be closed.
            drop(connection.detach());
            return;
        };
        if self.is_running && self.may_close {
            connection.close_on_drop();
            return;
        }
        let may_close = self.may_close;
        runtime.spawn(async move {
            let result = connection.execute("ROLLBACK".into_sql_str()).await;
            if result.is_err() && may_close {
                connection.close_on_drop();
            }
        });
    }
}

/// The error of a statement. `classify` knows the errors of the database.
pub(crate) fn failure(error: sqlx::Error, classify: Classify) -> DatabaseError {
    match error {
        sqlx::Error::Database(cause) => classify(cause),
        sqlx::Error::PoolTimedOut => DatabaseError::Busy(error.into()),
        other => other.into(),
    }
}
