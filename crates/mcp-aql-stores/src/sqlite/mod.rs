//! A store in an SQLite file for the state of an adapter.

mod file;
mod worker;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mcp_aql_core::BoxFuture;
use mcp_aql_core::internal::config::user_directory::Purpose;
use mcp_aql_core::internal::config::{ForbiddenAccess, exposures, user_directory};
use rusqlite::Connection;

use self::file::File;
use self::worker::Worker;
use super::sql::{PURGE_BATCH_SIZE, Statement, Value, listed, record};
use super::{Change, StateRecord, StateStore, StoreError};

/// The timeout for another process that writes.
const DEFAULT_BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A store in one SQLite file. Use it for an adapter on one machine.
///
/// When [`write`](StateStore::write) returns, the data is on the disk, so it survives a crash of the process and
/// of the system. Several processes may share the file if they run on one machine and the file is on a local
/// disk. Network file systems do not provide the locks that SQLite needs.
///
/// ```
/// use mcp_aql::store::{Change, Expected, NewRecord, SqliteState, StateStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("mcp-aql-doc-{}", std::process::id()));
/// let store = SqliteState::open(folder.join("state.db"));
/// let seat = Change::put("claims", "seat-7", Expected::Absent, NewRecord::new("\"Ada\""));
/// assert!(store.write(vec![seat]).await?);
/// # drop(store);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(()) }
/// ```
///
/// SQLite runs on two threads of the store, one for reads and one for writes. They start with the first call.
/// A reader does not wait for a writer.
#[derive(Debug)]
pub struct SqliteState {
    file: Arc<File>,
    reader: Worker,
    writer: Worker,
}

impl SqliteState {
    /// Creates a store in this file. The first call opens the file.
    ///
    /// If the file or its directories are missing, they are created, accessible only to this user because the
    /// records are private.
    #[must_use]
    pub fn open(path: impl AsRef<Path>) -> Self {
        Self::with(File::new(path.as_ref(), DEFAULT_BUSY_TIMEOUT))
    }

    fn with(file: File) -> Self {
        let file = Arc::new(file);
        let [reader, writer] = [(); 2].map(|()| Worker::new(Arc::clone(&file)));
        Self { file, reader, writer }
    }

    /// Sets the timeout of a write that waits for other processes. The default is 10 seconds.
    #[must_use]
    pub fn busy_timeout(self, time: Duration) -> Self {
        Self::with(File::new(self.path(), time))
    }

    /// Creates a store in the user's directory for application state, in `mcp-aql/NAME/state.db` below:
    ///
    /// | system | directory |
    /// |---|---|
    /// | Linux and others | `$XDG_STATE_HOME`, or `~/.local/state` |
    /// | macOS | `~/Library/Application Support` |
    /// | Windows | `%LOCALAPPDATA%` |
    ///
    /// ```no_run
    /// use mcp_aql::store::SqliteState;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteState::in_user_state("tasks")?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the directory is unknown, or if the name is not a valid directory name.
    pub fn in_user_state(name: &str) -> Result<Self, StoreError> {
        let folder = user_directory::of(Purpose::State, name)
            .map_err(|problem| StoreError::failed(format!("{problem}; name a file instead")))?;
        Ok(Self::open(folder.join("state.db")))
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    async fn read(
        &self,
        statement: Statement,
        to_record: fn(Vec<Value>) -> Result<StateRecord, StoreError>,
    ) -> Result<Vec<StateRecord>, StoreError> {
        let file = Arc::clone(&self.file);
        self.reader
            .run(move |connection| {
                let rows =
                    file::rows(connection, &statement).map_err(|error| file.failed(error))?;
                rows.into_iter().map(to_record).collect()
            })
            .await
    }
}

impl StateStore for SqliteState {
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        let file = Arc::clone(&self.file);
        // The worker opens the file before it runs the first job.
        Box::pin(self.writer.run(move |_| {
            for problem in exposures(file.path(), ForbiddenAccess::Read) {
                tracing::warn!("other users can access the adapter's state: {problem}");
            }
            Ok(())
        }))
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        Box::pin(async move {
            let mut found = self.read(self.file.tables.get(collection, key)?, record).await?;
            Ok(found.pop())
        })
    }

    fn list<'a>(
        &'a self,
        collection: &'a str,
        group: Option<&'a str>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StateRecord>, StoreError>> {
        Box::pin(async move {
            self.read(self.file.tables.list(collection, group, after, limit)?, listed).await
        })
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            Change::check(&changes)?;
            if changes.is_empty() {
                return Ok(true);
            }
            let file = Arc::clone(&self.file);
            self.writer
                .run(move |connection| {
                    let steps = file.tables.write(changes)?;
                    write(connection, &steps).map_err(|error| file.failed(error))
                })
                .await
        })
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let mut purged = 0;
            loop {
                // One job per batch, so that other writes can run in between.
                let file = Arc::clone(&self.file);
                let some = self.writer.run(move |connection| {
                    let step = file.tables.purge(now)?;
                    file::execute(connection, &step.statement).map_err(|error| file.failed(error))
                });
                let some = u64::try_from(some.await?).unwrap_or(u64::MAX);
                purged += some;
                if some < PURGE_BATCH_SIZE {
                    return Ok(purged);
                }
            }
        })
    }
}

fn write(
    connection: &mut Connection,
    steps: &[super::sql::TransactionStep],
) -> rusqlite::Result<bool> {
    let transaction = file::begin(connection)?;
    for step in steps {
        let changed = file::execute(&transaction, &step.statement)?;
        if step.decides && changed != 1 {
            transaction.rollback()?;
            return Ok(false);
        }
    }
    transaction.commit()?;
    Ok(true)
}

#[cfg(test)]
mod tests;
