//! Opens the file and makes it ready.

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::types::{ToSqlOutput, Value as Stored, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::store::StoreError;
use crate::store::sql::{Dialect, Statement, Tables, Upgrade, Value};

/// How long between two tries. SQLite's own pauses grow to a tenth of a second, in which a busy
/// process takes the file many times over.
const PAUSE: Duration = Duration::from_millis(1);

/// The file of a store.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    /// How long to wait for another process that writes.
    pub(super) patience: Duration,
    pub(super) tables: Tables,
    /// Held by whoever closes a connection.
    pub(super) closing: Mutex<()>,
}

impl File {
    pub(super) fn new(path: &Path, patience: Duration) -> Self {
        // The working directory may be another one when the file is opened. An empty path stays one,
        // and opening it tells so.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let tables = Tables { dialect: Dialect::Sqlite, schema: None };
        Self { path, patience, tables, closing: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// An error as the log has it, with the file.
    pub(super) fn failed(&self, source: rusqlite::Error) -> StoreError {
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::Unreadable(format!(
                "{} is no SQLite database: move it away, or name another file",
                self.path.display()
            )),
            Some(ErrorCode::DatabaseCorrupt) => StoreError::Unreadable(format!(
                "{} is damaged ({source}): restore it from a copy, or move it away to begin anew",
                self.path.display()
            )),
            _ => StoreError::failed(Failure { path: self.path.clone(), source: source.into() }),
        }
    }

    fn cannot(&self, source: io::Error) -> StoreError {
        StoreError::failed(Failure { path: self.path.clone(), source: source.into() })
    }
}

/// What went wrong with which file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
struct Failure {
    path: PathBuf,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// Opens the file, which may be missing, and brings its layout up to date.
pub(super) fn open(file: &File) -> Result<Connection, StoreError> {
    create(&file.path).map_err(|error| file.cannot(error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(&file.path, flags).map_err(|error| file.failed(error))?;
    // A connection stays on its thread.
    LIMIT.set(file.patience);
    connection.busy_handler(Some(wait)).map_err(|error| file.failed(error))?;
    // Before anything is written: what is not ours stays untouched.
    let upgrade = upgrade(&connection, file)?;
    settings(&connection, file)?;
    if upgrade != Upgrade::None {
        migrate(&mut connection, file)?;
    }
    Ok(connection)
}

/// Makes what is missing, for the user alone. SQLite gives the files beside it the same rights.
fn create(path: &Path) -> io::Result<()> {
    let mut folders = fs::DirBuilder::new();
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        folders.mode(0o700);
        options.mode(0o600);
    }
    if let Some(parent) = path.parent() {
        folders.recursive(true).create(parent)?;
    }
    options.write(true).create(true).truncate(false).open(path)?;
    Ok(())
}

fn settings(connection: &Connection, file: &File) -> Result<(), StoreError> {
    let mode = write_ahead(connection, file.patience).map_err(|error| file.failed(error))?;
    if mode != "wal" {
        return Err(StoreError::failed(format!(
            "{} cannot be written ahead (its journal is {mode:?}): name a file on a local disk",
            file.path.display()
        )));
    }
    // A commit returns when the data is on the disk. On Apple's systems that takes a call of its own.
    let update = |name, value| connection.pragma_update(None, name, value);
    update("synchronous", "FULL")
        .and_then(|()| update("fullfsync", "ON"))
        .map_err(|error| file.failed(error))
}

/// Turns on write-ahead logging: readers and the writer do not wait for each other.
///
/// Two processes that create one file at once get in each other's way here, and SQLite does not wait
/// by itself.
fn write_ahead(connection: &Connection, patience: Duration) -> rusqlite::Result<String> {
    let start = Instant::now();
    loop {
        let mode =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match mode {
            Err(error) if is_busy(&error) && start.elapsed() < patience => {
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

thread_local! {
    /// The patience of this thread's connection, and since when it waits: SQLite tells its handler
    /// neither.
    static LIMIT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

fn wait(times: i32) -> bool {
    if times == 0 {
        SINCE.set(Some(Instant::now()));
    }
    std::thread::sleep(PAUSE);
    SINCE.get().is_some_and(|since| since.elapsed() < LIMIT.get())
}

fn upgrade(connection: &Connection, file: &File) -> Result<Upgrade, StoreError> {
    let ask =
        |statement: Statement| rows(connection, &statement).map_err(|error| file.failed(error));
    let there = ask(file.tables.tables_there()?)?;
    let layout = if Tables::is_ours(&there) { Some(ask(file.tables.layout()?)?) } else { None };
    file.tables.upgrade(&there, layout.as_deref(), &file.path.display().to_string())
}

fn migrate(connection: &mut Connection, file: &File) -> Result<(), StoreError> {
    let transaction = begin(connection).map_err(|error| file.failed(error))?;
    // Once more, now that nobody else can change it.
    if let Upgrade::Steps(statements) = upgrade(&transaction, file)? {
        for statement in &statements {
            execute(&transaction, statement).map_err(|error| file.failed(error))?;
        }
    }
    transaction.commit().map_err(|error| file.failed(error))
}

/// A transaction that writes. It waits here and nowhere else.
pub(super) fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn bound(value: &Value) -> ToSqlOutput<'_> {
    match value {
        Value::Null | Value::Strange => ToSqlOutput::Owned(Stored::Null),
        Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        Value::Int(number) => ToSqlOutput::Owned(Stored::Integer(*number)),
    }
}

/// How many rows it changed.
pub(super) fn execute(connection: &Connection, statement: &Statement) -> rusqlite::Result<usize> {
    let values = rusqlite::params_from_iter(statement.values.iter().map(bound));
    connection.prepare_cached(&statement.sql)?.execute(values)
}

/// The rows it gives.
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
                    .map_or(Value::Strange, |text| Value::Text(text.to_owned())),
                ValueRef::Integer(number) => Value::Int(number),
                ValueRef::Real(_) | ValueRef::Blob(_) => Value::Strange,
            })
        };
        columns.clone().map(value).collect()
    })?;
    rows.collect()
}
