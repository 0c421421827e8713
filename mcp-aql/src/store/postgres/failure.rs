//! What went wrong, and whether to try again.

use std::error::Error;
use std::time::Duration;

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::error::{Severity, SqlState};

use crate::store::StoreError;

/// So often something is tried in all.
const TRIES: u32 = 7;
/// The first pause; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct Failure {
    error: StoreError,
    /// Nothing was changed, and the next try may succeed.
    again: bool,
    /// The connection is of no use any more.
    pub(super) lost: bool,
}

/// An error with all its causes in one line: the driver's own texts say little.
#[derive(Debug, thiserror::Error)]
#[error("PostgreSQL: {told}")]
struct Cause {
    told: String,
    source: tokio_postgres::Error,
}

fn told(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        // Without the detail, which holds values.
        return format!("{}: {} ({})", error.severity(), error.message(), error.code().code());
    }
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        told = format!("{told}: {cause}");
        source = cause.source();
    }
    told
}

fn failed(source: tokio_postgres::Error) -> StoreError {
    StoreError::failed(Cause { told: told(&source), source })
}

/// Another transaction was in the way.
fn is_conflict(error: &tokio_postgres::Error) -> bool {
    let conflicts = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| conflicts.contains(code))
}

/// The server ends, or begins.
fn is_passing(error: &tokio_postgres::Error) -> bool {
    let passing =
        [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    error.code().is_some_and(|code| passing.contains(code))
}

impl Failure {
    /// When a transaction was to be committed. Where the connection breaks now, nobody knows whether
    /// it was.
    pub(super) fn at_commit(error: tokio_postgres::Error) -> Self {
        let again = is_conflict(&error);
        Self { again, ..Self::from(error) }
    }

    /// The server does not answer.
    pub(super) fn silence(limit: Duration) -> Self {
        let message = format!("PostgreSQL did not answer within {} s", limit.as_secs());
        Self { error: StoreError::failed(message), again: false, lost: true }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let lost = match error.as_db_error() {
            Some(error) => {
                matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
            }
            None => error.is_closed() || error.source().is_some_and(|it| it.is::<std::io::Error>()),
        };
        let gone = lost && error.as_db_error().is_none();
        let again = is_conflict(&error) || is_passing(&error) || gone;
        Self { error: failed(error), again, lost }
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            // No connection came about: to try again at once would help only while the server starts.
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                let again = is_passing(&error);
                Self { error: failed(error), again, lost: true }
            }
            other => Self { error: StoreError::failed(other), again: false, lost: true },
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { error, again: false, lost: false }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// Tries that failed.
#[derive(Debug, Default)]
pub(super) struct Tries(u32);

impl Tries {
    /// Returns when it is time for the next one.
    pub(super) async fn again(&mut self, failure: Failure) -> Result<(), StoreError> {
        self.0 += 1;
        if !failure.again || self.0 >= TRIES {
            return Err(failure.error);
        }
        tracing::debug!(error = %failure.error, "trying the store again");
        tokio::time::sleep(PAUSE * (1 << self.0.min(TRIES))).await;
        Ok(())
    }
}
