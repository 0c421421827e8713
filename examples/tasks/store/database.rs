//! Opens the database file and migrates its schema.

use std::path::Path;
use std::time::{Duration, Instant};

use mcp_aql::query::CursorKey;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::rows::{self, Words};
use crate::error::TaskError;

/// The application id in the header of our files (`task` in ASCII). SQLite reserves this field to identify file
/// formats.
const APPLICATION_ID: i32 = 0x7461_736b;

/// The migrations, each from one schema version to the next. A new file has version 0.
const MIGRATIONS: &[Migration] = &[first, searchable];

/// A migration to the next schema version.
type Migration = fn(&Connection) -> Result<(), TaskError>;

fn first(connection: &Connection) -> Result<(), TaskError> {
    connection.execute_batch(
        "
    CREATE TABLE task (
        -- The order of creation. AUTOINCREMENT: a number is never given twice, so that cursors stay
        -- true and the identifier of a deleted task stays unknown.
        number      INTEGER PRIMARY KEY AUTOINCREMENT,
        title       TEXT NOT NULL,
        description TEXT,
        status      TEXT NOT NULL,
        priority    INTEGER NOT NULL,
        tags        TEXT NOT NULL,      -- a JSON array
        metadata    TEXT NOT NULL,      -- a JSON object
        due_date    TEXT,
        created_at  INTEGER NOT NULL,   -- milliseconds since 1970, UTC
        updated_at  INTEGER NOT NULL,
        version     INTEGER NOT NULL,
        searched    TEXT NOT NULL       -- title, description and tags in lower case
    ) STRICT;
    ",
    )?;
    Ok(())
}

/// Adds the columns that queries use, the table of links, and the key that signs cursors.
fn searchable(connection: &Connection) -> Result<(), TaskError> {
    connection.execute_batch(
        "
    ALTER TABLE task DROP COLUMN searched;
    -- As `mcp_aql::query::fold_text` writes them.
    ALTER TABLE task ADD COLUMN title_words TEXT NOT NULL DEFAULT '';
    ALTER TABLE task ADD COLUMN description_words TEXT;
    ALTER TABLE task ADD COLUMN tags_words TEXT NOT NULL DEFAULT '';
    ALTER TABLE task ADD COLUMN task_id TEXT AS ('t-' || number);
    -- Microseconds now; no two tasks have the same, so that they are listed as they were created.
    UPDATE task SET created_at = created_at * 1000 + number % 1000,
                    updated_at = updated_at * 1000 + 999;
    CREATE INDEX task_by_creation ON task (created_at, task_id);
    CREATE TABLE link (
        source       INTEGER NOT NULL,  -- the number of a task
        relationship TEXT NOT NULL,
        target       INTEGER NOT NULL,
        PRIMARY KEY (source, relationship, target)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX link_by_target ON link (target, relationship);
    CREATE TABLE secret (cursor_key BLOB NOT NULL) STRICT;
    INSERT INTO secret VALUES (randomblob(16));
    ",
    )?;
    let mut select = connection.prepare(&format!("SELECT {} FROM task", rows::COLUMNS))?;
    let tasks = select.query_map([], rows::task)?.collect::<Result<Vec<_>, _>>()?;
    for (number, task) in tasks {
        let Words { title, description, tags } = Words::of(&task);
        connection.execute(
            "UPDATE task SET title_words = ?2, description_words = ?3, tags_words = ?4
             WHERE number = ?1",
            (number, title, description, tags),
        )?;
    }
    Ok(())
}

/// Returns the key that signs the file's cursors.
pub(super) fn cursor_key(connection: &Connection) -> Result<CursorKey, TaskError> {
    let key = connection.query_row("SELECT cursor_key FROM secret", [], |row| row.get(0))?;
    Ok(CursorKey::new(key))
}

/// Maximum time to wait for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Delay between two attempts to acquire the lock.
const BUSY_RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// Opens the file and migrates it. A missing file is created.
pub(super) fn open(path: &Path) -> Result<Connection, TaskError> {
    let cannot = |source| TaskError::Open { path: path.to_owned(), source };
    let mut connection = connect(path).map_err(cannot)?;
    // Check the file before writing anything, so that files of other programs stay unchanged.
    layout(&connection, path)?;
    let mode = write_ahead(&connection).map_err(cannot)?;
    if mode != "wal" {
        return Err(TaskError::NotShareable { path: path.to_owned() });
    }
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Opens another connection to a file prepared by [`open`].
pub(super) fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(wait))?;
    // With `FULL`, a commit only returns when the data is on the disk. Acknowledged changes survive a power loss.
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Waits for another process that writes. Returns `true` to make SQLite try again.
///
/// SQLite's own delays grow to 100 ms. In that time, a busy process acquires the lock ten times, so short constant
/// delays are fairer.
fn wait(times: i32) -> bool {
    std::thread::sleep(BUSY_RETRY_INTERVAL);
    BUSY_RETRY_INTERVAL.saturating_mul(times.unsigned_abs()) < BUSY_TIMEOUT
}

/// Enables write-ahead logging, so that readers and the writer do not block each other.
///
/// This needs a retry loop: if two processes create the same file at once, they conflict here, and SQLite does not
/// retry by itself.
fn write_ahead(connection: &Connection) -> Result<String, rusqlite::Error> {
    let start = Instant::now();
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match mode {
            Err(error) if is_busy(&error) && start.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(BUSY_RETRY_INTERVAL);
            }
            other => return other,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Returns the schema version of the file. Returns an error if the file belongs to another program or to a newer
/// version of this one.
fn layout(connection: &Connection, path: &Path) -> Result<usize, TaskError> {
    let cannot = |source| TaskError::Open { path: path.to_owned(), source };
    let (application, found, is_empty) = connection
        .query_row(
            "SELECT application_id, user_version, NOT EXISTS (SELECT 1 FROM sqlite_schema)
             FROM pragma_application_id, pragma_user_version",
            [],
            |row| Ok((row.get::<_, i32>(0)?, row.get::<_, u32>(1)?, row.get::<_, bool>(2)?)),
        )
        .map_err(cannot)?;
    if application != APPLICATION_ID && !is_empty {
        return Err(TaskError::Foreign { path: path.to_owned() });
    }
    match usize::try_from(found) {
        Ok(found) if found <= MIGRATIONS.len() => Ok(found),
        _ => Err(TaskError::Newer { path: path.to_owned(), found, known: newest() }),
    }
}

/// Returns the schema version that this program writes.
fn newest() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// Runs the missing migrations in one transaction.
fn migrate(connection: &mut Connection, path: &Path) -> Result<(), TaskError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated the file since the first check. The transaction excludes further ones.
    let found = layout(&transaction, path)?;
    if found < MIGRATIONS.len() {
        for step in MIGRATIONS.iter().skip(found) {
            step(&transaction)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", newest())?;
    }
    transaction.commit()?;
    Ok(())
}
