//! The time for which calls wait for a database.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{AccessMode, DatabaseError};

/// The time for which calls wait for a database before they are refused. The defaults are 5 seconds for a connection, 5 seconds
/// for a lock, and 30 seconds for a statement.
///
/// A call that has waited for too long has changed nothing. Its caller reads that the database is busy, and when to try
/// again. Only if the answer to a COMMIT is missing, the caller reads that the change may have happened.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_aql::resource::WaitLimits;
///
/// let limits = WaitLimits::default().lock(Duration::from_secs(1));
/// # let _ = limits;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct WaitLimits {
    connection: Duration,
    lock: Duration,
    statement: Duration,
}

impl Default for WaitLimits {
    fn default() -> Self {
        Self {
            connection: Duration::from_secs(5),
            lock: Duration::from_secs(5),
            statement: Duration::from_secs(30),
        }
    }
}

/// The time after the limit of a statement for the server's own report of it.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);

/// The settings on which the texts of stored values depend.
const TEXT_FORMS: &str = "SET LOCAL extra_float_digits = 1; SET LOCAL DateStyle = 'ISO, MDY'; \
                          SET LOCAL IntervalStyle = 'postgres'; SET LOCAL TimeZone = 'UTC'; SET LOCAL bytea_output = 'hex'";

impl WaitLimits {
    /// Sets how long a call waits for a free connection.
    #[must_use]
    pub const fn connection(self, connection: Duration) -> Self {
        Self { connection, ..self }
    }

    /// Sets how long a statement waits for the lock of a record or of the file.
    #[must_use]
    pub const fn lock(self, lock: Duration) -> Self {
        Self { lock, ..self }
    }

    /// Sets how long a statement runs, including its waits.
    #[must_use]
    pub const fn statement(self, statement: Duration) -> Self {
        Self { statement, ..self }
    }

    /// The time for which a statement waits for a lock.
    pub const fn of_lock(&self) -> Duration {
        self.lock
    }

    /// The time for which a statement runs.
    pub const fn of_statement(&self) -> Duration {
        self.statement
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// [`DatabaseError::Busy`] if none is free in time.
    pub async fn connect<T>(&self, waiting: impl Future<Output = T>) -> Result<T, DatabaseError> {
        let result = tokio::time::timeout(self.connection, waiting).await;
        result.map_err(|_| DatabaseError::Busy("no connection was free in time".into()))
    }

    /// Waits for the answer of a server to a statement, for somewhat longer than the server itself would run it: a server
    /// that has stopped, or a broken network, reports nothing.
    ///
    /// # Errors
    /// [`DatabaseError::Busy`] if there is no answer in time.
    pub async fn answer<T>(&self, waiting: impl Future<Output = T>) -> Result<T, DatabaseError> {
        let limit = self.statement.saturating_add(ANSWER_MARGIN);
        let result = tokio::time::timeout(limit, waiting).await;
        result.map_err(|_| DatabaseError::Busy("the database has not answered in time".into()))
    }

    /// The statement that begins a transaction of PostgreSQL. It also sets the forms of numbers and times in text, which
    /// a database, a user or an earlier call of the connection may have changed.
    pub fn begin_postgres(&self, access: AccessMode) -> String {
        let begin = match access {
            AccessMode::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            AccessMode::Write => "BEGIN",
        };
        // 0 would be no limit.
        let millis = |limit: Duration| limit.as_millis().clamp(1, i32::MAX as u128);
        format!(
            "{begin}; SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; {TEXT_FORMS}",
            millis(self.lock),
            millis(self.statement)
        )
    }
}

/// The connections of a pool that may write at the same time. Writers wait for each other's locks; the rest of the pool
/// remains for those who read.
#[derive(Debug, Clone)]
pub struct Writers(Arc<Semaphore>);

impl Writers {
    /// Half of the connections of a pool, at least one.
    pub fn of_pool(connections: usize) -> Self {
        Self(Arc::new(Semaphore::new((connections / 2).max(1))))
    }

    /// Waits for a turn to write; reading needs none.
    ///
    /// # Errors
    /// [`DatabaseError::Busy`] if other calls write for too long.
    pub async fn turn(
        &self,
        access: AccessMode,
        limits: &WaitLimits,
    ) -> Result<Turn, DatabaseError> {
        match access {
            AccessMode::Read => Ok(Turn(None)),
            AccessMode::Write => {
                let turn = Arc::clone(&self.0).acquire_owned();
                Ok(Turn(Some(limits.connect(turn).await??)))
            }
        }
    }
}

/// The turn of a transaction, which ends with it.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "it is only kept")] Option<OwnedSemaphorePermit>);
