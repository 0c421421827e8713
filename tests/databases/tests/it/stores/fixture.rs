//! Creates storage for a test. The test can open it several times.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_aql::store::{MemoryState, PostgresState, SqliteState, StateStore};
use tempfile::TempDir;

/// Storage that you can open several times in a test.
pub(crate) struct StoreFixture {
    open: Box<dyn Fn() -> Arc<dyn StateStore> + Send + Sync>,
    _folder: Option<TempDir>,
}

impl StoreFixture {
    /// Opens a store with its own connections, as if you had started another process.
    pub(crate) fn store(&self) -> Arc<dyn StateStore> {
        (self.open)()
    }
}

pub(crate) fn memory() -> StoreFixture {
    let store = Arc::new(MemoryState::default());
    StoreFixture { open: Box::new(move || Arc::<MemoryState>::clone(&store)), _folder: None }
}

pub(crate) fn sqlite() -> StoreFixture {
    let (folder, file) = file();
    StoreFixture {
        open: Box::new(move || Arc::new(SqliteState::open(&file))),
        _folder: Some(folder),
    }
}

/// Returns the path of a file in a new directory.
pub(crate) fn file() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("state.db");
    (folder, file)
}

pub(crate) async fn postgres() -> Option<StoreFixture> {
    let (address, schema) = schema().await?;
    let open = move || -> Arc<dyn StateStore> {
        Arc::new(PostgresState::connect(&address).unwrap().schema(&schema))
    };
    Some(StoreFixture { open: Box::new(open), _folder: None })
}

/// Returns the address of the PostgreSQL server and the name of a new schema. Returns `None` without a server.
pub(crate) async fn schema() -> Option<(String, String)> {
    static SCHEMAS: AtomicUsize = AtomicUsize::new(0);
    // `connect` prints a message if there is no server.
    let client = mcp_aql_tests_databases::postgres::connect().await?;
    let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
    // The name contains quotes, to check that they are escaped.
    let schema = format!("store\"{}\"{number}", std::process::id());
    let quoted = schema.replace('"', "\"\"");
    client.batch_execute(&format!("DROP SCHEMA IF EXISTS \"{quoted}\" CASCADE")).await.unwrap();
    Some((std::env::var("MCP_AQL_TEST_POSTGRES").unwrap(), schema))
}
