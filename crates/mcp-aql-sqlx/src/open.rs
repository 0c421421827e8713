//! A connection with an open transaction.

use mcp_aql_query::sql::DatabaseError;
use sqlx::error::ErrorKind;
use sqlx::pool::PoolConnection;
use sqlx::{Executor, Pool, SqlSafeStr as _};
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
}

impl<DB: sqlx::Database> Open<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// Begins a transaction.
    pub(crate) async fn begin(
        pool: &Pool<DB>,
        begin: &'static str,
        may_close: bool,
    ) -> Result<Self, DatabaseError> {
        let connection = Some(pool.acquire().await?);
        let mut open = Self { connection, is_running: false, may_close };
        open.execute(begin).await?;
        Ok(open)
    }

    /// Ends the transaction and keeps its changes.
    pub(crate) async fn commit(mut self) -> Result<(), DatabaseError> {
        self.execute("COMMIT").await?;
        drop(self.connection.take());
        Ok(())
    }

    async fn execute(&mut self, sql: &'static str) -> Result<(), DatabaseError> {
        let result = self.start()?.execute(sql.into_sql_str()).await;
        self.stop();
        result.map(drop).map_err(failure)
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

/// The error of a statement.
pub(crate) fn failure(error: sqlx::Error) -> DatabaseError {
    let Some(cause) = error.as_database_error() else { return error.into() };
    match (cause.kind(), cause.code().as_deref()) {
        (ErrorKind::UniqueViolation, _) => DatabaseError::Unique(error.into()),
        (ErrorKind::ForeignKeyViolation, _) | (_, Some(RESTRICT_VIOLATION)) => {
            DatabaseError::Reference(error.into())
        }
        (ErrorKind::CheckViolation | ErrorKind::NotNullViolation, _) => {
            DatabaseError::Value(error.into())
        }
        (_, Some(code)) if VALUES.contains(&code) => DatabaseError::Value(error.into()),
        _ => error.into(),
    }
}

/// `restrict_violation`, which PostgreSQL reports for a row that is still referred to.
const RESTRICT_VIOLATION: &str = "23001";

/// PostgreSQL's codes of values that a column cannot contain.
const VALUES: [&str; 5] =
    [TEXT_TOO_LONG, NUMBER_OUT_OF_RANGE, DATE_MALFORMED, DATE_OUT_OF_RANGE, TEXT_MALFORMED];

/// `string_data_right_truncation`
const TEXT_TOO_LONG: &str = "22001";
/// `numeric_value_out_of_range`
const NUMBER_OUT_OF_RANGE: &str = "22003";
/// `invalid_datetime_format`
const DATE_MALFORMED: &str = "22007";
/// `datetime_field_overflow`
const DATE_OUT_OF_RANGE: &str = "22008";
/// `invalid_text_representation`
const TEXT_MALFORMED: &str = "22P02";
