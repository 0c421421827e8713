//! SQLite through `rusqlite`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use mcp_aql_core::Error;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::spawn_blocking;

use crate::sql::{Access, Database, DatabaseError, Dialect, SqlValue, Statement, Transaction};

/// A SQLite database for [`SqlStore`](super::super::SqlStore), with one connection, which its calls use one after
/// another. Clones share it.
///
/// The calls run on tokio's threads for blocking work.
#[derive(Clone)]
pub struct RusqliteDatabase {
    connection: Arc<Mutex<Connection>>,
}

impl RusqliteDatabase {
    /// Opens a file, which must exist.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let flags = OpenFlags::default() & !OpenFlags::SQLITE_OPEN_CREATE;
        let connection = Connection::open_with_flags(path, flags).map_err(Error::other)?;
        Ok(Self::new(connection))
    }

    /// Uses a connection.
    pub fn new(connection: Connection) -> Self {
        Self { connection: Arc::new(Mutex::new(connection)) }
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

    async fn begin(&self, access: Access) -> Result<RusqliteTransaction, DatabaseError> {
        let connection = Arc::clone(&self.connection).lock_owned().await;
        let begin = match access {
            Access::Read => "BEGIN",
            Access::Write => "BEGIN IMMEDIATE",
        };
        spawn_blocking(move || {
            connection.execute_batch(begin)?;
            Ok(RusqliteTransaction { open: Some(Open { connection, is_over: false }) })
        })
        .await?
    }
}

/// A transaction of a [`RusqliteDatabase`].
pub struct RusqliteTransaction {
    /// Missing while a statement runs on another thread.
    open: Option<Open>,
}

impl fmt::Debug for RusqliteTransaction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RusqliteTransaction").finish_non_exhaustive()
    }
}

/// The connection of a transaction, wherever it is.
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
        if !self.is_over && self.connection.execute_batch("ROLLBACK").is_err() {
            tracing::warn!("a transaction of SQLite could not be rolled back");
        }
    }
}

/// The error for a transaction whose call was cancelled.
const CANCELLED: &str = "the transaction has ended with a call that was cancelled";

impl Transaction for RusqliteTransaction {
    async fn run(&mut self, statement: Statement) -> Result<Vec<Vec<SqlValue>>, DatabaseError> {
        let open = self.open.take().ok_or(CANCELLED)?;
        let (open, rows) = spawn_blocking(move || {
            let rows = run(&open.connection, &statement);
            (open, rows)
        })
        .await?;
        self.open = Some(open);
        rows
    }

    async fn commit(mut self) -> Result<(), DatabaseError> {
        let open = self.open.take().ok_or(CANCELLED)?;
        spawn_blocking(move || open.commit()).await?
    }
}

fn run(
    connection: &Connection,
    statement: &Statement,
) -> Result<Vec<Vec<SqlValue>>, DatabaseError> {
    let mut prepared = connection.prepare_cached(&statement.sql)?;
    let width = prepared.column_count();
    let values = statement.values.iter().map(|value| match value {
        SqlValue::Null => ToSqlOutput::Owned(Value::Null),
        SqlValue::Bool(value) => ToSqlOutput::Owned(Value::Integer((*value).into())),
        SqlValue::Int(value) => ToSqlOutput::Owned(Value::Integer(*value)),
        SqlValue::Float(value) => ToSqlOutput::Owned(Value::Real(*value)),
        SqlValue::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
    });
    let mut rows = prepared.query(params_from_iter(values))?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().map_err(failure)? {
        let value = |column| {
            Ok(match row.get_ref(column)? {
                ValueRef::Null => SqlValue::Null,
                ValueRef::Integer(value) => SqlValue::Int(value),
                ValueRef::Real(value) => SqlValue::Float(value),
                ValueRef::Text(text) => SqlValue::Text(std::str::from_utf8(text)?.to_owned()),
                ValueRef::Blob(_) => return Err("a column contains a blob".into()),
            })
        };
        all.push((0..width).map(value).collect::<Result<_, DatabaseError>>()?);
    }
    Ok(all)
}

fn failure(error: rusqlite::Error) -> DatabaseError {
    let code = match &error {
        rusqlite::Error::SqliteFailure(failure, _)
            if failure.code == ErrorCode::ConstraintViolation =>
        {
            failure.extended_code
        }
        _ => return error.into(),
    };
    match code {
        UNIQUE | PRIMARY_KEY => DatabaseError::Unique(error.into()),
        FOREIGN_KEY => DatabaseError::Reference(error.into()),
        CHECK | NOT_NULL => DatabaseError::Value(error.into()),
        _ => error.into(),
    }
}

/// `SQLITE_CONSTRAINT_CHECK`
const CHECK: i32 = 275;
/// `SQLITE_CONSTRAINT_FOREIGNKEY`
const FOREIGN_KEY: i32 = 787;
/// `SQLITE_CONSTRAINT_NOTNULL`
const NOT_NULL: i32 = 1_299;
/// `SQLITE_CONSTRAINT_PRIMARYKEY`
const PRIMARY_KEY: i32 = 1_555;
/// `SQLITE_CONSTRAINT_UNIQUE`
const UNIQUE: i32 = 2_067;
