//! SQLite through `rusqlite`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use mcp_aql_core::Error;
/// The driver in the version used by [`RusqliteDatabase`].
pub use rusqlite as driver;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, InterruptHandle, OpenFlags, ToSql, params_from_iter};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::sql::{
    AccessMode, Database, DatabaseError, Dialect, SqlValue, Statement, Transaction, WaitLimits,
};

/// A SQLite database for [`SqlStore`](super::super::SqlStore). Clones share it.
///
/// A file has two connections, one for calls that change records and one for calls that only read. Reading
/// therefore continues while a change waits for another process. The calls of each connection take turns, on
/// tokio's threads for blocking work.
#[derive(Clone)]
pub struct RusqliteDatabase {
    writer: Arc<Mutex<Connection>>,
    reader: Arc<Mutex<Connection>>,
    limits: WaitLimits,
}

impl RusqliteDatabase {
    /// Opens an existing file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let flags = OpenFlags::default() & !OpenFlags::SQLITE_OPEN_CREATE;
        let open = || Connection::open_with_flags(&path, flags).map_err(Error::other);
        let reader = open()?;
        reader.pragma_update(None, "query_only", true).map_err(Error::other)?;
        Ok(Self { reader: Arc::new(Mutex::new(reader)), ..Self::new(open()?) })
    }

    /// Uses one connection for all calls, for example to a database in memory. Set the time for which SQLite
    /// waits for locks with [`wait_limits`](Self::wait_limits).
    pub fn new(connection: Connection) -> Self {
        let writer = Arc::new(Mutex::new(connection));
        Self { reader: Arc::clone(&writer), writer, limits: WaitLimits::default() }
    }

    /// Sets the timeouts of calls.
    #[must_use]
    pub const fn wait_limits(mut self, limits: WaitLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Calls a function with the connection for changes, on a thread for blocking work. Use it in your own
    /// operations. Other changes wait until the function returns.
    ///
    /// ```
    /// use mcp_aql::prelude::*;
    /// use mcp_aql::resource::{DatabaseError, RusqliteDatabase};
    ///
    /// /// Counts the orders.
    /// async fn count(database: &RusqliteDatabase) -> Result<i64, DatabaseError> {
    ///     let sql = "SELECT count(*) FROM orders";
    ///     database.with(|connection| Ok(connection.query_row(sql, [], |row| row.get(0))?)).await
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of the function, or [`DatabaseError::Busy`].
    pub async fn with<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Connection) -> Result<T, DatabaseError> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let mut connection = self.connection(AccessMode::Write).await?;
        let limits = self.limits;
        spawn_blocking(move || {
            connection.busy_timeout(limits.of_lock()).map_err(failure)?;
            call(&mut connection)
        })
        .await?
    }

    async fn connection(
        &self,
        access: AccessMode,
    ) -> Result<OwnedMutexGuard<Connection>, DatabaseError> {
        let connection = match access {
            AccessMode::Read => &self.reader,
            AccessMode::Write => &self.writer,
        };
        self.limits.connect(Arc::clone(connection).lock_owned()).await
    }
}

impl fmt::Debug for RusqliteDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RusqliteDatabase").finish_non_exhaustive()
    }
}

impl Database for RusqliteDatabase {
    const DIALECT: Dialect = Dialect::Sqlite;

    type Transaction = RusqliteTransaction;

    fn identity(&self) -> usize {
        Arc::as_ptr(&self.writer).addr()
    }

    async fn begin(&self, access: AccessMode) -> Result<RusqliteTransaction, DatabaseError> {
        let connection = self.connection(access).await?;
        let limits = self.limits;
        let begin = match access {
            AccessMode::Read => "BEGIN",
            AccessMode::Write => "BEGIN IMMEDIATE",
        };
        spawn_blocking(move || {
            connection.busy_timeout(limits.of_lock()).map_err(failure)?;
            connection.execute_batch(begin).map_err(failure)?;
            Ok(RusqliteTransaction { open: Some(Open { connection, is_over: false }), limits })
        })
        .await?
    }
}

/// A transaction of a [`RusqliteDatabase`].
pub struct RusqliteTransaction {
    /// `None` while a statement runs on another thread.
    open: Option<Open>,
    limits: WaitLimits,
}

/// Interrupts a statement if its call ends before the statement does.
struct Interrupt {
    handle: InterruptHandle,
    is_over: bool,
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if !self.is_over {
            self.handle.interrupt();
        }
    }
}

impl fmt::Debug for RusqliteTransaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RusqliteTransaction").finish_non_exhaustive()
    }
}

/// The connection of a transaction. It moves between the transaction and the thread that runs a statement.
struct Open {
    connection: OwnedMutexGuard<Connection>,
    is_over: bool,
}

impl Open {
    fn commit(mut self) -> Result<(), DatabaseError> {
        self.connection.execute_batch("COMMIT").map_err(failure)?;
        self.is_over = true;
        Ok(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // The interrupt of a canceled call may hit the first attempt.
        let is_open = |open: &Self| !open.is_over && !open.connection.is_autocommit();
        for _ in 0..MAX_ROLLBACKS {
            if is_open(self) {
                let _ = self.connection.execute_batch("ROLLBACK");
            }
        }
        if is_open(self) {
            tracing::warn!("a transaction of SQLite could not be rolled back");
        }
    }
}

const MAX_ROLLBACKS: usize = 3;

/// The error for a transaction whose call was canceled.
const CANCELLED: &str = "the transaction has ended with a call that was cancelled";

impl Transaction for RusqliteTransaction {
    async fn run(&mut self, statement: Statement) -> Result<Vec<Vec<SqlValue>>, DatabaseError> {
        let open = self.open.take().ok_or(CANCELLED)?;
        let handle = open.connection.get_interrupt_handle();
        let mut interrupt = Interrupt { handle, is_over: false };
        let mut running = spawn_blocking(move || {
            let rows = statement.run_on(&open.connection).map_err(failure);
            (open, rows)
        });
        let (open, rows) = match timeout(self.limits.of_statement(), &mut running).await {
            Ok(result) => result?,
            Err(_) => {
                interrupt.handle.interrupt();
                running.await?
            }
        };
        interrupt.is_over = true;
        self.open = Some(open);
        rows
    }

    async fn commit(mut self) -> Result<(), DatabaseError> {
        let open = self.open.take().ok_or(CANCELLED)?;
        spawn_blocking(move || open.commit()).await?
    }
}

impl Statement {
    /// Runs the statement on your own connection, for [`SqlTable::run`](crate::sql::SqlTable::run).
    ///
    /// # Errors
    ///
    /// Returns the error of the driver.
    pub fn run_on(&self, connection: &Connection) -> rusqlite::Result<Vec<Vec<SqlValue>>> {
        let mut prepared = connection.prepare_cached(&self.sql)?;
        let width = prepared.column_count();
        let rows = prepared.query_map(params_from_iter(&self.values), |row| {
            (0..width).map(|column| row.get_ref(column).map(SqlValue::from)).collect()
        })?;
        rows.collect()
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Bool(value) => ToSqlOutput::Owned(Value::Integer((*value).into())),
            Self::Int(value) => ToSqlOutput::Owned(Value::Integer(*value)),
            Self::Float(value) => ToSqlOutput::Owned(Value::Real(*value)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Self::RawText(bytes) => ToSqlOutput::Borrowed(ValueRef::Text(bytes)),
        })
    }
}

impl From<ValueRef<'_>> for SqlValue {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(value) => Self::Int(value),
            ValueRef::Real(value) => Self::Float(value),
            ValueRef::Text(text) => match std::str::from_utf8(text) {
                Ok(text) => Self::Text(text.to_owned()),
                // SQLite does not check the encoding of strings, so other programs can store any bytes.
                Err(_) => Self::RawText(text.to_owned()),
            },
            ValueRef::Blob(bytes) => Self::Bytes(bytes.to_owned()),
        }
    }
}

fn failure(error: rusqlite::Error) -> DatabaseError {
    let rusqlite::Error::SqliteFailure(code, message) = &error else { return error.into() };
    let (code, message) = (code.extended_code, message.clone().unwrap_or_default());
    DatabaseError::of_sqlite(code, &message, error)
}
