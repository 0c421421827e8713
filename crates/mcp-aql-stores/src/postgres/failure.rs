//! Classifies the errors of PostgreSQL, and retries failed attempts.

use std::error::Error;
use std::time::Duration;

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::error::{Severity, SqlState};

use mcp_aql_core::store::StoreError;

/// Maximum number of attempts.
const MAX_ATTEMPTS: u32 = 7;
/// The delay before the second attempt. It doubles with each attempt: 10 ms, 20 ms, 40 ms … 320 ms.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Failure {
    error: StoreError,
    /// If `true`, nothing was changed, and another attempt may succeed.
    retryable: bool,
    /// If `true`, the connection can no longer be used.
    pub(super) lost: bool,
}

/// An error with all its causes in one line, because the driver's own messages are too short.
#[derive(Debug, thiserror::Error)]
#[error("PostgreSQL: {message}")]
struct DriverError {
    message: String,
    source: tokio_postgres::Error,
}

fn message(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        // The detail is omitted, because it contains stored values.
        return format!("{}: {} ({})", error.severity(), error.message(), error.code().code());
    }
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    message
}

fn failed(source: tokio_postgres::Error) -> StoreError {
    StoreError::failed(DriverError { message: message(&source), source })
}

/// Returns `true` if another transaction caused the failure.
fn is_conflict(error: &tokio_postgres::Error) -> bool {
    let conflicts = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| conflicts.contains(code))
}

/// Returns `true` if the server is starting or shutting down.
fn is_passing(error: &tokio_postgres::Error) -> bool {
    let passing =
        [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    error.code().is_some_and(|code| passing.contains(code))
}

/// Returns `true` if the connection is lost, or the server cannot be reached. The driver reports values and
/// messages that it cannot encode or decode as I/O errors as well.
fn is_of_network(error: &(dyn Error + 'static)) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput};
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| !matches!(error.kind(), InvalidInput | InvalidData))
}

impl Failure {
    /// Creates a failure of a commit. If the connection breaks at this point, the outcome of the transaction
    /// is unknown, so it is not retried.
    pub(super) fn at_commit(error: tokio_postgres::Error) -> Self {
        let retryable = is_conflict(&error);
        Self { retryable, ..Self::from(error) }
    }

    /// Creates the failure of a server that does not respond in time.
    pub(super) fn no_response(limit: Duration) -> Self {
        let message = format!("PostgreSQL did not answer within {} s", limit.as_secs());
        Self { error: StoreError::failed(message), retryable: false, lost: true }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let lost = match error.as_db_error() {
            Some(error) => {
                matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
            }
            None => error.is_closed() || error.source().is_some_and(is_of_network),
        };
        let gone = lost && error.as_db_error().is_none();
        let retryable = is_conflict(&error) || is_passing(&error) || gone;
        Self { error: failed(error), retryable, lost }
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        match error {
            // The connection failed. An immediate retry only helps while the server starts.
            PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
                let retryable = is_passing(&error);
                Self { error: failed(error), retryable, lost: true }
            }
            other => Self { error: StoreError::failed(other), retryable: false, lost: true },
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { error, retryable: false, lost: false }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// Counts failed attempts.
#[derive(Debug, Default)]
pub(super) struct RetryCounter(u32);

impl RetryCounter {
    /// Waits before the next attempt, or returns the error if a retry is not allowed.
    pub(super) async fn wait(&mut self, failure: Failure) -> Result<(), StoreError> {
        self.0 += 1;
        if !failure.retryable || self.0 >= MAX_ATTEMPTS {
            return Err(failure.error);
        }
        tracing::debug!(error = %failure.error, "retrying a statement of the store");
        tokio::time::sleep(FIRST_RETRY_DELAY * (1 << (self.0 - 1))).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::is_of_network;

    #[test]
    fn a_value_that_cannot_be_encoded_does_not_lose_the_connection() {
        for (kind, is_lost) in [
            (ErrorKind::ConnectionReset, true),
            (ErrorKind::UnexpectedEof, true),
            (ErrorKind::InvalidInput, false),
            (ErrorKind::InvalidData, false),
        ] {
            assert_eq!(is_of_network(&Error::from(kind)), is_lost, "{kind}");
        }
    }
}
