//! Opens the database file and prepares it.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use mcp_aql_core::internal::config::{private_file, private_folder};
use mcp_aql_core::store::StoreError;
use rusqlite::types::{ToSqlOutput, Value as Stored, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::sql::{Dialect, Statement, Tables, Upgrade, Value};

/// The delay between two attempts to lock the file. SQLite's own delays grow to a tenth of a second. A busy
/// process locks the file many times within this time.
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(1);

/// Number of pages at which a commit checkpoints the write-ahead log.
///
/// With SQLite's own limit of 1,000 pages, the log alone fills a small file system. It can then no longer be
/// moved, and all later writes fail.
const MAX_LOG_PAGES: i64 = 64;
/// Page size of new files of SQLite.
const PAGE_BYTES: i64 = 4_096;

/// The database file of a store.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    /// The timeout for the lock of another process.
    pub(super) busy_timeout: Duration,
    pub(super) tables: Tables,
    /// Locked while a connection is closed.
    pub(super) closing: Mutex<()>,
}

impl File {
    pub(super) fn new(path: &Path, busy_timeout: Duration) -> Self {
        // Make the path absolute, because the working directory may change before the file is opened. An
        // empty path stays empty, and opening it returns an error.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let tables = Tables { dialect: Dialect::Sqlite, schema: None };
        Self { path, busy_timeout, tables, closing: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the path to an error.
    pub(super) fn failed(&self, source: rusqlite::Error) -> StoreError {
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::Unreadable(format!(
                "{} is not an SQLite database: move it away, or use another file",
                self.path.display()
            )),
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Unreadable(format!(
                "{} is damaged ({source}): restore it from a backup, or move it away to start with an empty one",
                self.path.display()
            )),
            code => {
                let advice = match code {
                    Some(
                        ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied,
                    ) => NOT_WRITABLE,
                    Some(ErrorCode::DiskFull) => NO_SPACE,
                    _ => "",
                };
                self.failed_with(source.into(), advice)
            }
        }
    }

    fn io_error(&self, source: io::Error) -> StoreError {
        let advice = match source.kind() {
            io::ErrorKind::StorageFull => NO_SPACE,
            _ => NOT_WRITABLE,
        };
        self.failed_with(source.into(), advice)
    }

    fn failed_with(
        &self,
        source: Box<dyn std::error::Error + Send + Sync>,
        advice: &'static str,
    ) -> StoreError {
        StoreError::failed(FileError { path: self.path.clone(), source, advice })
    }
}

/// The advice for a file that cannot be opened or written.
const NOT_WRITABLE: &str = ": this user needs write access to the file and its directory";
/// The advice for a full file system.
const NO_SPACE: &str = ": free space on its file system";

/// An error with the path of the file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}{advice}", path.display())]
struct FileError {
    path: PathBuf,
    source: Box<dyn std::error::Error + Send + Sync>,
    advice: &'static str,
}

/// Opens the file, creates it if it is missing, and migrates its layout.
pub(super) fn open(file: &File) -> Result<Connection, StoreError> {
    create(&file.path).map_err(|error| file.io_error(error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(&file.path, flags).map_err(|error| file.failed(error))?;
    // The thread-local timeout applies to this connection, because a connection stays on its thread.
    BUSY_TIMEOUT.set(file.busy_timeout);
    connection.busy_handler(Some(wait)).map_err(|error| file.failed(error))?;
    // Check the file before anything is written, because the file of another program must not be changed.
    let upgrade = upgrade(&connection, file)?;
    apply_settings(&connection, file)?;
    if upgrade != Upgrade::None {
        migrate(&mut connection, file)?;
    }
    Ok(connection)
}

/// Creates missing directories and the file, accessible only to the user. SQLite creates its additional files
/// with the same permissions.
fn create(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        private_folder().create(parent)?;
    }
    private_file().write(true).create(true).truncate(false).open(path)?;
    Ok(())
}

fn apply_settings(connection: &Connection, file: &File) -> Result<(), StoreError> {
    let mode = write_ahead(connection, file.busy_timeout).map_err(|error| file.failed(error))?;
    if mode != "wal" {
        return Err(StoreError::failed(format!(
            "{} does not support write-ahead logging (its journal is {mode:?}): use a file on a local disk",
            file.path.display()
        )));
    }
    // A commit must only return when the data is on the disk. On macOS this requires the setting `fullfsync`.
    let update = |name, value| connection.pragma_update(None, name, value);
    update("synchronous", "FULL")
        .and_then(|()| update("fullfsync", "ON"))
        .and_then(|()| connection.pragma_update(None, "wal_autocheckpoint", MAX_LOG_PAGES))
        .and_then(|()| {
            let limit = MAX_LOG_PAGES * PAGE_BYTES;
            connection.pragma_update_and_check(None, "journal_size_limit", limit, |_| Ok(()))
        })
        .map_err(|error| file.failed(error))
}

/// Enables write-ahead logging, so that readers and the writer do not wait for each other.
///
/// Processes that create the same file at the same time conflict here. SQLite does not wait by itself, so
/// this function retries.
fn write_ahead(connection: &Connection, busy_timeout: Duration) -> rusqlite::Result<String> {
    let start = Instant::now();
    loop {
        let mode =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match mode {
            Err(error) if is_busy(&error) && start.elapsed() < busy_timeout => {
                std::thread::sleep(LOCK_RETRY_DELAY);
            }
            other => return other,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

thread_local! {
    /// The busy timeout of this thread's connection, and the start of the current wait. SQLite passes neither
    /// to its busy handler.
    static BUSY_TIMEOUT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static WAITING_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

fn wait(times: i32) -> bool {
    if times == 0 {
        WAITING_SINCE.set(Some(Instant::now()));
    }
    std::thread::sleep(LOCK_RETRY_DELAY);
    WAITING_SINCE.get().is_some_and(|since| since.elapsed() < BUSY_TIMEOUT.get())
}

fn upgrade(connection: &Connection, file: &File) -> Result<Upgrade, StoreError> {
    let query =
        |statement: Statement| rows(connection, &statement).map_err(|error| file.failed(error));
    let there = query(file.tables.tables_query()?)?;
    let layout =
        if Tables::is_ours(&there) { Some(query(file.tables.layout_query()?)?) } else { None };
    file.tables.upgrade(&there, layout.as_deref(), &file.path.display().to_string())
}

fn migrate(connection: &mut Connection, file: &File) -> Result<(), StoreError> {
    let transaction = begin(connection).map_err(|error| file.failed(error))?;
    // Check again, because no other process can change the file from here on.
    if let Upgrade::Steps(statements) = upgrade(&transaction, file)? {
        for statement in &statements {
            execute(&transaction, statement).map_err(|error| file.failed(error))?;
        }
    }
    transaction.commit().map_err(|error| file.failed(error))
}

/// Begins a transaction that writes. Only this statement waits for other writers.
pub(super) fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn bound(value: &Value) -> ToSqlOutput<'_> {
    match value {
        Value::Null | Value::Unknown => ToSqlOutput::Owned(Stored::Null),
        Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Value::Int(number) => ToSqlOutput::Owned(Stored::Integer(*number)),
    }
}

/// Executes a statement and returns the number of changed rows.
pub(super) fn execute(connection: &Connection, statement: &Statement) -> rusqlite::Result<usize> {
    let values = rusqlite::params_from_iter(statement.values.iter().map(bound));
    connection.prepare_cached(&statement.sql)?.execute(values)
}

/// Runs a query and returns its rows.
pub(super) fn rows(
    connection: &Connection,
    statement: &Statement,
) -> rusqlite::Result<Vec<Vec<Value>>> {
    let mut prepared = connection.prepare_cached(&statement.sql)?;
    let columns = 0..prepared.column_count();
    let values = rusqlite::params_from_iter(statement.values.iter().map(bound));
    let rows = prepared.query_map(values, |row| {
        let value = |column| {
            Ok::<_, rusqlite::Error>(match row.get_ref(column)? {
                ValueRef::Null => Value::Null,
                ValueRef::Text(text) => std::str::from_utf8(text)
                    .map_or(Value::Unknown, |text| Value::Text(text.to_owned())),
                ValueRef::Integer(number) => Value::Int(number),
                ValueRef::Real(_) | ValueRef::Blob(_) => Value::Unknown,
            })
        };
        columns.clone().map(value).collect()
    })?;
    rows.collect()
}
