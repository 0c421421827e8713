//! Timeouts of calls to a database.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{AccessMode, DatabaseError};

/// Timeouts of calls to a database.
///
/// | timeout | default |
/// |---|---|
/// | [`connection`](Self::connection) | 5 seconds |
/// | [`lock`](Self::lock) | 5 seconds |
/// | [`statement`](Self::statement) | 30 seconds |
///
/// A call that times out changes nothing. Its caller receives an error with the time after which to retry.
/// The only exception is a COMMIT without an answer. Its error says that the change may have happened.
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

/// The time to wait for an answer after the timeout of a statement, so that the server can report the timeout
/// itself.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);

/// The settings for the string form of numbers, times and bytes. Statements select most values as strings, so
/// the form must not depend on the configuration of the server.
const TEXT_FORMS: &str = "SET LOCAL extra_float_digits = 1; SET LOCAL DateStyle = 'ISO, MDY'; \
                          SET LOCAL IntervalStyle = 'postgres'; SET LOCAL TimeZone = 'UTC'; SET LOCAL bytea_output = 'hex'";

impl WaitLimits {
    /// Sets the timeout for a free connection.
    #[must_use]
    pub const fn connection(self, connection: Duration) -> Self {
        Self { connection, ..self }
    }

    /// Sets the timeout for the lock of a record or of the file.
    #[must_use]
    pub const fn lock(self, lock: Duration) -> Self {
        Self { lock, ..self }
    }

    /// Sets the timeout of a statement, including its waits.
    #[must_use]
    pub const fn statement(self, statement: Duration) -> Self {
        Self { statement, ..self }
    }

    /// Returns the timeout for a lock.
    pub const fn of_lock(&self) -> Duration {
        self.lock
    }

    /// Returns the timeout of a statement.
    pub const fn of_statement(&self) -> Duration {
        self.statement
    }

    /// Waits for a connection.
    ///
    /// # Errors
    ///
    /// Returns [`DatabaseError::Busy`] if the timeout expires.
    pub async fn connect<T>(&self, waiting: impl Future<Output = T>) -> Result<T, DatabaseError> {
        let result = tokio::time::timeout(self.connection, waiting).await;
        result.map_err(|_| DatabaseError::Busy("no connection was free in time".into()))
    }

    /// Waits for the answer of a server to a statement.
    ///
    /// The timeout is longer than the server's own, so it only expires if the server has stopped or the
    /// network is broken.
    ///
    /// # Errors
    ///
    /// Returns [`DatabaseError::Busy`] if the timeout expires.
    pub async fn answer<T>(&self, waiting: impl Future<Output = T>) -> Result<T, DatabaseError> {
        let limit = self.statement.saturating_add(ANSWER_MARGIN);
        let result = tokio::time::timeout(limit, waiting).await;
        result.map_err(|_| DatabaseError::Busy("the database did not answer in time".into()))
    }

    /// Returns the statement that begins a transaction of PostgreSQL.
    ///
    /// The statement also sets the string form of numbers and times, because a database, a user or an earlier
    /// call on the connection may have changed it.
    pub fn begin_postgres(&self, access: AccessMode) -> String {
        let begin = match access {
            AccessMode::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            AccessMode::Write => "BEGIN",
        };
        // In PostgreSQL, 0 disables a timeout.
        let millis = |limit: Duration| limit.as_millis().clamp(1, i32::MAX as u128);
        format!(
            "{begin}; SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = {}; {TEXT_FORMS}",
            millis(self.lock),
            millis(self.statement)
        )
    }
}

/// Limits the connections of a pool that write at the same time. Writers wait for each other's locks, so the
/// rest of the pool stays available for reading.
#[derive(Debug, Clone)]
pub struct Writers(Arc<Semaphore>);

impl Writers {
    /// Allows half of the connections of a pool to write, at least one.
    pub fn of_pool(connections: usize) -> Self {
        Self(Arc::new(Semaphore::new((connections / 2).max(1))))
    }

    /// Waits for a turn to write. Reading needs no turn.
    ///
    /// # Errors
    ///
    /// Returns [`DatabaseError::Busy`] if other calls write for too long.
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

/// The turn of a transaction. Drop it to let the next call write.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "it is only kept")] Option<OwnedSemaphorePermit>);
