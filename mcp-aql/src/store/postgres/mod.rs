mod failure;
mod session;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use deadpool_postgres::{Hook, HookError, Manager, Pool, Runtime};
use tokio::sync::OnceCell;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{Config, NoTls, Socket};

use self::failure::{Failure, Tries};
use super::sql::{Dialect, PURGED_AT_ONCE, Statement, Step, Tables, Value, listed, record};
use super::{Change, Record, Store, StoreError};
use crate::future::BoxFuture;

/// Connections, unless another number is set.
const CONNECTIONS: usize = 8;
/// How long to wait for a connection, free or new.
const PATIENCE: Duration = Duration::from_secs(10);
/// For a server that is there and does not answer. Its own limit for a statement is shorter.
const SILENCE: Duration = Duration::from_secs(30);
/// PostgreSQL cuts longer names off.
const MOST_SCHEMA_BYTES: usize = 63;
/// How long a statement may take, unless another limit is set.
const STATEMENT: Duration = Duration::from_secs(10);

/// What the user's configuration or role sets stays. The second limit is for a process that stands
/// still with records locked.
fn settings(milliseconds: u64) -> String {
    format!(
        "SELECT set_config(name, '{milliseconds}ms', false)
        FROM unnest(ARRAY['statement_timeout', 'idle_in_transaction_session_timeout']) AS limits (name)
        WHERE current_setting(name) = '0'"
    )
}

/// Keeps records in PostgreSQL, 14 or later, for adapters on several machines.
///
/// The tables are in a schema of their own, `mcp_aql` unless [another](Self::schema) is set, which is
/// made by the first call. All adapters with the same schema share their records, so different ones
/// need different schemas. The role needs the right to create the schema, or to create tables in
/// one that is there and empty.
///
/// ```no_run
/// use mcp_aql::store::PostgresStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = PostgresStore::connect("host=db.internal user=tasks dbname=tasks")?.schema("tasks");
/// # Ok(()) }
/// ```
///
/// Up to eight connections are open at a time; those that break are replaced. What the server rolled
/// back, because another transaction was in the way or because it ended, is tried again. A statement
/// may take ten seconds, unless [`patience`](Self::patience), the configuration
/// (`options='-c statement_timeout=…'`) or the role sets another limit. [`write`](Store::write) returns when the server has committed: what that survives
/// is the server's to say (`synchronous_commit`, `fsync`).
///
/// # TLS
///
/// [`connect`](Self::connect) does not encrypt, which suits a socket or a network of your own; it
/// refuses a configuration with `sslmode=require`. With a connector for `tokio-postgres`, as the crates
/// `postgres-openssl` and `tokio-postgres-rustls` have one, [`connect_with`](Self::connect_with) does;
/// write `sslmode=require`, or a server without TLS is talked to without.
pub struct PostgresStore {
    pool: Pool,
    tables: Tables,
    /// How long a statement may take, in milliseconds.
    limit: Arc<AtomicU64>,
    ready: OnceCell<()>,
}

impl PostgresStore {
    /// A store in the database that this text names, in either form of libpq: `host=… user=…` or
    /// `postgresql://…`. Nothing is connected before the first call.
    ///
    /// # Errors
    /// The text is no such configuration, or asks for TLS.
    pub fn connect(config: &str) -> Result<Self, StoreError> {
        let config = parsed(config)?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(StoreError::failed(
                "the configuration says sslmode=require: use PostgresStore::connect_with",
            ));
        }
        Self::with(config, NoTls)
    }

    /// As [`connect`](Self::connect), encrypted by this connector.
    ///
    /// # Errors
    /// The text is no configuration.
    pub fn connect_with<T>(config: &str, tls: T) -> Result<Self, StoreError>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + Sync,
        T::TlsConnect: Send + Sync,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        Self::with(parsed(config)?, tls)
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
        // For a server that vanished without a word.
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        let limit = Arc::new(AtomicU64::new(millis(STATEMENT)));
        let set = {
            let limit = Arc::clone(&limit);
            Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
                let settings = settings(limit.load(Ordering::Relaxed));
                Box::pin(async move {
                    client.batch_execute(&settings).await.map_err(HookError::Backend)
                })
            })
        };
        let pool = Pool::builder(Manager::new(config, tls))
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(PATIENCE))
            .create_timeout(Some(PATIENCE))
            .post_create(set)
            .build()
            .map_err(StoreError::failed)?;
        let tables = Tables { dialect: Dialect::Postgres, schema: Some("mcp_aql".to_owned()) };
        Ok(Self { pool, tables, limit, ready: OnceCell::new() })
    }

    /// Sets the schema of the tables.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.tables.schema = Some(name.into());
        self
    }

    /// Sets how long a statement may take where neither the configuration nor the role says so. Default:
    /// 10 seconds. A server that has not answered after 30 is taken for gone all the same.
    #[must_use]
    pub fn patience(self, time: Duration) -> Self {
        self.limit.store(millis(time), Ordering::Relaxed);
        self
    }

    /// Sets how many connections there may be at a time; at least one.
    #[must_use]
    pub fn connections(self, most: usize) -> Self {
        self.pool.resize(most.max(1));
        self
    }

    /// Makes the tables ready, once.
    async fn ready(&self) -> Result<(), StoreError> {
        self.ready.get_or_try_init(|| self.migrate()).await.copied()
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        let schema = self.tables.schema.as_deref().unwrap_or_default();
        if schema.is_empty() || schema.len() > MOST_SCHEMA_BYTES || schema.contains('\0') {
            return Err(StoreError::failed(format!(
                "{schema:?} cannot be the name of a schema: it needs 1 to {MOST_SCHEMA_BYTES} bytes"
            )));
        }
        let mut tries = Tries::default();
        loop {
            match session::migrate(&self.pool, &self.tables, schema).await {
                Ok(()) => return Ok(()),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    async fn rows(&self, statement: &Statement) -> Result<Vec<Vec<Value>>, StoreError> {
        self.ready().await?;
        let mut tries = Tries::default();
        loop {
            match session::rows(&self.pool, statement).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }

    /// How many rows the transaction changed, if it was not given up.
    async fn transact(&self, steps: &[Step]) -> Result<Option<u64>, StoreError> {
        self.ready().await?;
        let mut tries = Tries::default();
        loop {
            match session::transact(&self.pool, steps).await {
                Ok(changed) => return Ok(changed),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }
}

/// As PostgreSQL takes limits; nothing is no limit there.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, i32::MAX.unsigned_abs().into())
}

fn parsed(config: &str) -> Result<Config, StoreError> {
    config.parse().map_err(|error| Failure::from(error).into())
}

impl fmt::Debug for PostgresStore {
    /// Without the configuration, which may hold a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresStore")
            .field("schema", &self.tables.schema)
            .field("connections", &self.pool.status())
            .finish_non_exhaustive()
    }
}

impl Store for PostgresStore {
    fn prepare(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.ready())
    }

    fn get<'a>(
        &'a self,
        collection: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
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
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(async move {
            let found = self.rows(&self.tables.list(collection, group, after, most)?).await?;
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
                if some < PURGED_AT_ONCE {
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
    fn a_statement_has_a_limit_unless_another_is_set() {
        let store = PostgresStore::connect("host=localhost user=ada").unwrap();
        let limit = |store: &PostgresStore| store.limit.load(Ordering::Relaxed);
        assert!(settings(limit(&store)).contains("'10000ms'"));
        let store = store.patience(Duration::from_millis(300));
        assert!(settings(limit(&store)).contains("'300ms'"));
        // Nothing, and more than PostgreSQL can hold, would be no limit and an error.
        assert_eq!(limit(&store.patience(Duration::ZERO)), 1);
        assert_eq!(millis(Duration::MAX), 2_147_483_647);
    }
}
