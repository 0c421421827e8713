//! The databases of the tests, and adapters over them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{NewId, ReadyOperations, Record, ResourceStore, SqlStore};
use mcp_aql_sqlx::{SqlxPostgres, SqlxSqlite};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, PgPool, SqlitePool};

/// The pools of a test.
pub(crate) struct Pools {
    /// A database in memory, with one connection.
    memory: SqlitePool,
    /// A file, with several connections.
    pub(crate) file: SqlitePool,
    /// A schema of its own, with several connections.
    pub(crate) postgres: Option<PgPool>,
    /// The folder of the file.
    _folder: tempfile::TempDir,
}

/// Creates the pools.
pub(crate) async fn pools() -> Pools {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("test.db"))
        .create_if_missing(true)
        // Readers do not block a writer.
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(60));
    let file = SqlitePoolOptions::new().max_connections(4).connect_with(options).await.unwrap();
    Pools { memory: in_memory().await, file, postgres: in_postgres().await, _folder: folder }
}

/// Creates a database in memory.
pub(crate) async fn in_memory() -> SqlitePool {
    let options = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
    options.connect("sqlite::memory:").await.unwrap()
}

/// Connects to the PostgreSQL server of the tests, in a new schema. Returns `None` without a server.
pub(crate) async fn in_postgres() -> Option<PgPool> {
    use std::io::Write as _;
    static NUMBER: AtomicU64 = AtomicU64::new(0);

    let Ok(address) = std::env::var("MCP_AQL_TEST_POSTGRES") else {
        // Write to the terminal directly, because the test harness hides the output of passing tests.
        let _ = writeln!(
            std::io::stderr(),
            "MCP_AQL_TEST_POSTGRES is not set: PostgreSQL is left out (scripts/postgres.sh)"
        );
        return None;
    };
    let options = address.split_whitespace().fold(PgConnectOptions::new(), |options, part| {
        match part.split_once('=').unwrap() {
            ("host", folder) if folder.starts_with('/') => options.socket(folder),
            ("host", name) => options.host(name),
            ("user", name) => options.username(name),
            ("dbname", name) => options.database(name),
            ("port", number) => options.port(number.parse().unwrap()),
            (name, _) => panic!("MCP_AQL_TEST_POSTGRES has the unknown part `{name}`"),
        }
    });
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    let schema = format!("sqlx_{now}_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let pool = PgPool::connect_with(options.clone()).await.unwrap();
    let create = format!("CREATE SCHEMA {schema}");
    sqlx::raw_sql(AssertSqlSafe(create)).execute(&pool).await.unwrap();
    // Use settings as different from those of the framework as possible.
    let options = options.options([
        ("search_path", schema.as_str()),
        ("DateStyle", "German"),
        ("TimeZone", "Asia/Kathmandu"),
    ]);
    Some(PgPoolOptions::new().max_connections(4).connect_with(options).await.unwrap())
}

/// A table, and its columns in both databases.
pub(crate) struct Databases<R: 'static> {
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
    pub(crate) table: fn(Dialect) -> SqlTable<R>,
}

impl<R> Databases<R>
where
    R: Record<Id: NewId> + DeserializeOwned,
    R: ReadyOperations<SqlStore<R, SqlxSqlite>> + ReadyOperations<SqlStore<R, SqlxPostgres>>,
{
    /// Creates an adapter for each database, with an empty table.
    pub(crate) async fn adapters(&self, pools: &Pools) -> Vec<(&'static str, Adapter)> {
        let drop = format!("DROP TABLE IF EXISTS {}", self.name);
        let create = |columns| format!("{drop}; CREATE TABLE {} ({columns})", self.name);
        let mut all = Vec::new();
        for (name, pool) in [("SQLite, memory", &pools.memory), ("SQLite, file", &pools.file)] {
            sqlx::raw_sql(AssertSqlSafe(create(self.sqlite))).execute(pool).await.unwrap();
            let table = (self.table)(Dialect::Sqlite);
            all.push((name, adapter(SqlStore::new(table, SqlxSqlite::new(pool.clone())))));
        }
        if let Some(pool) = &pools.postgres {
            sqlx::raw_sql(AssertSqlSafe(create(self.postgres))).execute(pool).await.unwrap();
            let table = (self.table)(Dialect::Postgres);
            let store = SqlStore::new(table, SqlxPostgres::new(pool.clone()));
            all.push(("PostgreSQL", adapter(store)));
        }
        all
    }
}

/// Creates an adapter over a store.
pub(crate) fn adapter<S: ResourceStore<Resource: ReadyOperations<S>>>(store: S) -> Adapter {
    Adapter::builder("library").resource(store).without_config().build().unwrap()
}

/// Calls an operation, and confirms it if the adapter requests a confirmation. The cursors are removed from
/// the reply, because they depend on the key of the adapter.
pub(crate) async fn ask(adapter: &Adapter, operation: &str, params: &Value) -> Value {
    let mut params = params.clone();
    let mut reply = adapter.call(operation, params.clone()).await;
    let token = reply.error().and_then(|error| error.details.get("confirmation_token").cloned());
    if let Some(token) = token {
        params["confirmation_token"] = token;
        reply = adapter.call(operation, params).await;
    }
    if let Some(error) = reply.error() {
        return json!({ "code": error.code, "message": error.message });
    }
    let mut data = reply.data().clone();
    if let Some(info) = data.get_mut("pageInfo").and_then(Value::as_object_mut) {
        info.remove("startCursor");
        info.remove("endCursor");
    }
    data
}
