//! A connection with an open transaction.

use mcp_aql_query::sql::{AccessMode, DatabaseError, WaitLimits};
use sqlx::pool::PoolConnection;
use sqlx::{Executor, Pool, SqlSafeStr as _, SqlStr};
use tokio::runtime::Handle;

/// The error for a transaction whose call was canceled.
const CANCELLED: &str = "the transaction has ended with a call that was cancelled";

/// A connection of a pool with an open transaction. Dropping it rolls the transaction back.
///
/// The transactions of sqlx are not used, for two reasons. If a call is canceled while PostgreSQL begins a
/// transaction, its connection returns to the pool with the transaction still open. If SQLite ends a
/// transaction by itself, for example because the disk is full, sqlx cannot begin another one on the same
/// connection.
pub(crate) struct Open<DB: sqlx::Database>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// `None` after the end of the transaction.
    connection: Option<PoolConnection<DB>>,
    /// If `true`, a call has begun and has not ended.
    is_running: bool,
    /// The timeouts for a server, or `None` for SQLite, because SQLite always answers. The connection to a
    /// server is closed if a call times out, was canceled or cannot roll back.
    pub(crate) server: Option<WaitLimits>,
    /// Classifies the errors of the database.
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
        (server, classify): (Option<WaitLimits>, Classify),
    ) -> Result<Self, DatabaseError> {
        let acquired = limits.connect(pool.acquire()).await?;
        let connection = Some(acquired.map_err(|error| failure(error, classify))?);
        let mut open = Self { connection, is_running: false, server, classify };
        let begun = open.execute(begin).await?;
        begun.map_err(|error| failure(error, classify))?;
        Ok(open)
    }

    /// Ends the transaction and keeps its changes.
    pub(crate) async fn commit(mut self, access: AccessMode) -> Result<(), DatabaseError> {
        let cause = match self.execute("COMMIT".into_sql_str()).await {
            Ok(Ok(())) => {
                drop(self.connection.take());
                return Ok(());
            }
            Ok(Err(sqlx::Error::Database(cause))) => return Err((self.classify)(cause)),
            Ok(Err(error)) => error.into(),
            Err(DatabaseError::Busy(cause)) => cause,
            Err(error) => return Err(error),
        };
        // The server has not answered, so the transaction may have been committed or rolled back.
        Err(match access {
            AccessMode::Read => DatabaseError::Busy(cause),
            AccessMode::Write => DatabaseError::Unknown(cause),
        })
    }

    /// Runs a statement without values. The outer error is returned if the server does not answer.
    async fn execute(&mut self, sql: SqlStr) -> Result<Result<(), sqlx::Error>, DatabaseError> {
        let server = self.server;
        let running = self.start()?.execute(sql);
        let result = answer(server, running).await?;
        self.stop();
        Ok(result.map(drop))
    }

    /// Returns the connection for a call. The call must end with [`stop`](Self::stop).
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
        if self.is_running && self.server.is_some() {
            connection.close_on_drop();
            return;
        }
        let server = self.server;
        runtime.spawn(async move {
            let result = answer(server, connection.execute("ROLLBACK".into_sql_str())).await;
            if !matches!(result, Ok(Ok(_))) && server.is_some() {
                connection.close_on_drop();
            }
        });
    }
}

/// Waits for the answer of a server, or of SQLite.
pub(crate) async fn answer<T>(
    server: Option<WaitLimits>,
    waiting: impl Future<Output = T>,
) -> Result<T, DatabaseError> {
    match server {
        Some(limits) => limits.answer(waiting).await,
        None => Ok(waiting.await),
    }
}

/// Converts the error of a statement. `classify` handles errors reported by the database.
pub(crate) fn failure(error: sqlx::Error, classify: Classify) -> DatabaseError {
    match error {
        sqlx::Error::Database(cause) => classify(cause),
        // The pool has no free connection, or the server has closed one.
        sqlx::Error::PoolTimedOut => DatabaseError::Busy(error.into()),
        sqlx::Error::Io(ref cause) if DatabaseError::is_of_network(cause) => {
            DatabaseError::Busy(error.into())
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use mcp_aql_query::sql::DatabaseError;

    use super::failure;

    #[test]
    fn only_a_lost_connection_makes_a_database_busy() {
        for (kind, is_lost) in [
            (ErrorKind::ConnectionReset, true),
            (ErrorKind::UnexpectedEof, true),
            (ErrorKind::InvalidInput, false),
            (ErrorKind::InvalidData, false),
        ] {
            let error = sqlx::Error::Io(Error::from(kind));
            let found = failure(error, |cause| DatabaseError::Other(cause));
            assert_eq!(matches!(found, DatabaseError::Busy(_)), is_lost, "{kind}: {found:?}");
        }
    }
}
