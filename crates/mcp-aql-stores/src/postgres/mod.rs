//! A store in PostgreSQL for the state of an adapter.

mod failure;
mod session;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use deadpool_postgres::{Hook, HookError, Manager, Pool, Runtime};
use mcp_aql_core::BoxFuture;
use tokio::sync::OnceCell;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, NoTls, Socket};

use self::failure::{Failure, RetryCounter};
use super::sql::{
    Dialect, PURGE_BATCH_SIZE, Statement, Tables, TransactionStep, Value, listed, record,
};
use super::{Change, StateRecord, StateStore, StoreError};

/// The default number of connections.
const DEFAULT_CONNECTIONS: usize = 8;
/// The timeout for a connection from the pool.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout for a server that does not respond. It is longer than the server's own statement timeout.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// PostgreSQL truncates longer names, so that two schemas could become one.
const MAX_SCHEMA_BYTES: usize = 63;
/// The default statement timeout.
const DEFAULT_STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the statement that sets the timeouts of a connection. It keeps settings of the user's
/// configuration or role.
///
/// The second timeout ends transactions of a process that hangs while it holds locks.
fn timeout_statement(milliseconds: u64) -> String {
    format!(
        "SELECT set_config(name, '{milliseconds}ms', false)
        FROM unnest(ARRAY['statement_timeout', 'idle_in_transaction_session_timeout']) AS limits (name)
        WHERE current_setting(name) = '0'"
    )
}

/// A store in PostgreSQL 14 or later. Use it for adapters on several machines.
///
/// The first call creates a schema for the tables: `mcp_aql`, unless you set [another one](Self::schema). All
/// adapters with the same schema share their records, so use different schemas for different adapters. The
/// role needs permission to create the schema, or to create tables in an existing empty one.
///
/// ```no_run
/// use mcp_aql::store::PostgresState;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = PostgresState::connect("host=db.internal user=tasks dbname=tasks")?.schema("tasks");
/// # Ok(()) }
/// ```
///
/// Up to eight connections are open at a time. Broken connections are replaced. Transactions that the server
/// rolled back because of a conflict or a shutdown are retried.
///
/// The statement timeout is ten seconds, unless [`statement_timeout`](Self::statement_timeout), the
/// configuration (`options='-c statement_timeout=…'`) or the role sets another one.
///
/// [`write`](StateStore::write) returns when the server has committed. The server's settings determine how durable
/// a commit is (`synchronous_commit`, `fsync`).
///
/// # TLS
///
/// [`connect`](Self::connect) does not encrypt. Use it with a socket or in a private network. It rejects a
/// configuration with `sslmode=require`.
///
/// [`connect_with`](Self::connect_with) encrypts with a connector for `tokio-postgres`, for example from the
/// crates `postgres-openssl` and `tokio-postgres-rustls`. Set `sslmode=require` there; otherwise, a server
/// without TLS is used unencrypted.
pub struct PostgresState {
    pool: Pool,
    tables: Tables,
    /// The statement timeout in milliseconds.
    statement_timeout_ms: Arc<AtomicU64>,
    ready: OnceCell<()>,
}

impl PostgresState {
    /// Creates a store in the database of this configuration. Write it in either format of libpq: `host=…
    /// user=…` or `postgresql://…`. The first call opens the first connection.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration is invalid or requires TLS. If you need TLS, call
    /// [`connect_with`](Self::connect_with).
    pub fn connect(config: &str) -> Result<Self, StoreError> {
        let config = parse_config(config)?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(StoreError::failed(
                "the configuration says sslmode=require: use PostgresState::connect_with",
            ));
        }
        Self::with(config, NoTls)
    }

    /// Creates a store as [`connect`](Self::connect) does, with connections encrypted by your connector.
    ///
    /// # Errors
    ///
    /// Returns an error if the configuration is invalid.
    pub fn connect_with<T>(config: &str, tls: T) -> Result<Self, StoreError>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + Sync,
        T::TlsConnect: Send + Sync,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        Self::with(parse_config(config)?, tls)
    }

    fn with<T>(mut config: Config, tls: T) -> Result<Self, StoreError>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + Sync,
        T::TlsConnect: Send + Sync,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        if config.get_application_name().is_none() {
            config.application_name("mcp-aql");
        }
        // Detects a server that vanished without closing the connection.
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(RESPONSE_TIMEOUT);
        }
        let statement_timeout_ms = Arc::new(AtomicU64::new(millis(DEFAULT_STATEMENT_TIMEOUT)));
        let on_connect = {
            let statement_timeout_ms = Arc::clone(&statement_timeout_ms);
            Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
                let statement = timeout_statement(statement_timeout_ms.load(Ordering::Relaxed));
                Box::pin(async move {
                    client.batch_execute(&statement).await.map_err(HookError::Backend)
                })
            })
        };
        let pool = Pool::builder(Manager::new(config, tls))
            .max_size(DEFAULT_CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(CONNECT_TIMEOUT))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .post_create(on_connect)
            .build()
            .map_err(StoreError::failed)?;
        let tables = Tables { dialect: Dialect::Postgres, schema: Some("mcp_aql".to_owned()) };
        Ok(Self { pool, tables, statement_timeout_ms, ready: OnceCell::new() })
    }

    /// Sets the schema of the tables.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.tables.schema = Some(name.into());
        self
    }

    /// Sets the statement timeout, unless the configuration or the role sets one. The default is 10 seconds.
    ///
    /// Regardless of this timeout, a server that does not respond within 30 seconds is considered
    /// unreachable.
    #[must_use]
    pub fn statement_timeout(self, time: Duration) -> Self {
        self.statement_timeout_ms.store(millis(time), Ordering::Relaxed);
        self
    }

    /// Sets the maximum number of connections. It is at least one.
    #[must_use]
    pub fn connections(self, maximum: usize) -> Self {
        self.pool.resize(maximum.max(1));
        self
    }

    /// Creates or migrates the tables once.
    async fn ready(&self) -> Result<(), StoreError> {
        self.ready.get_or_try_init(|| self.migrate()).await.copied()
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        let schema = self.tables.schema.as_deref().unwrap_or_default();
        if schema.is_empty() || schema.len() > MAX_SCHEMA_BYTES || schema.contains('\0') {
            return Err(StoreError::failed(format!(
                "{schema:?} cannot be the name of a schema: it needs 1 to {MAX_SCHEMA_BYTES} bytes"
            )));
        }
        let mut retries = RetryCounter::default();
        loop {
            match session::migrate(&self.pool, &self.tables, schema).await {
                Ok(()) => return Ok(()),
                Err(failure) => retries.wait(failure).await?,
            }
        }
    }

    async fn rows(&self, statement: &Statement) -> Result<Vec<Vec<Value>>, StoreError> {
        self.ready().await?;
        let mut retries = RetryCounter::default();
        loop {
            match session::rows(&self.pool, statement).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => retries.wait(failure).await?,
            }
        }
    }

    /// Returns the number of rows changed by the transaction, or `None` if it was rolled back.
    async fn transact(&self, steps: &[TransactionStep]) -> Result<Option<u64>, StoreError> {
        self.ready().await?;
        let mut retries = RetryCounter::default();
        loop {
            match session::transact(&self.pool, steps).await {
                Ok(changed) => return Ok(changed),
                Err(failure) => retries.wait(failure).await?,
            }
        }
    }
}

/// Converts a timeout to milliseconds in PostgreSQL's range. The minimum is 1, because 0 would disable the
/// timeout.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, i32::MAX.unsigned_abs().into())
}

fn parse_config(config: &str) -> Result<Config, StoreError> {
    config.parse().map_err(|error| Failure::from(error).into())
}

impl fmt::Debug for PostgresState {
    /// Omits the configuration, because it may contain a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresState")
            .field("schema", &self.tables.schema)
            .field("connections", &self.pool.status())
            .finish_non_exhaustive()
    }
}

impl StateStore for PostgresState {
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.ready())
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<StateRecord>, StoreError>> {
        Box::pin(async move {
            let mut found = self.rows(&self.tables.get(collection, key)?).await?;
            found.pop().map(record).transpose()
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
            let found = self.rows(&self.tables.list(collection, group, after, limit)?).await?;
            found.into_iter().map(listed).collect()
        })
    }

    fn write(&self, changes: Vec<Change>) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(async move {
            Change::check(&changes)?;
            if changes.is_empty() {
                return Ok(true);
            }
            let steps = self.tables.write(changes)?;
            Ok(self.transact(&steps).await?.is_some())
        })
    }

    fn purge(&self, now: DateTime<Utc>) -> BoxFuture<'_, Result<u64, StoreError>> {
        Box::pin(async move {
            let steps = [self.tables.purge(now)?];
            let mut purged = 0;
            loop {
                let some = self.transact(&steps).await?.unwrap_or_default();
                purged += some;
                if some < PURGE_BATCH_SIZE {
                    return Ok(purged);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_a_timeout_by_default() {
        let store = PostgresState::connect("host=localhost user=ada").unwrap();
        let timeout = |store: &PostgresState| store.statement_timeout_ms.load(Ordering::Relaxed);
        assert!(timeout_statement(timeout(&store)).contains("'10000ms'"));
        let store = store.statement_timeout(Duration::from_millis(300));
        assert!(timeout_statement(timeout(&store)).contains("'300ms'"));
        // Zero would disable the timeout, and PostgreSQL would reject a larger number.
        assert_eq!(timeout(&store.statement_timeout(Duration::ZERO)), 1);
        assert_eq!(millis(Duration::MAX), 2_147_483_647);
    }
}
