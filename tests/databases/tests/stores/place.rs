use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_aql::store::{MemoryStore, PostgresStore, SqliteStore, Store};
use tempfile::TempDir;

/// Where records are kept, to be opened as often as wanted.
pub(crate) struct Place {
    open: Box<dyn Fn() -> Arc<dyn Store> + Send + Sync>,
    _folder: Option<TempDir>,
}

impl Place {
    /// A store of this place, with connections of its own, as another process would have it.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        (self.open)()
    }
}

pub(crate) fn memory() -> Place {
    let store = Arc::new(MemoryStore::default());
    Place { open: Box::new(move || Arc::<MemoryStore>::clone(&store)), _folder: None }
}

pub(crate) fn sqlite() -> Place {
    let (folder, file) = file();
    Place { open: Box::new(move || Arc::new(SqliteStore::open(&file))), _folder: Some(folder) }
}

/// A file that is not there yet.
pub(crate) fn file() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("state.db");
    (folder, file)
}

pub(crate) async fn postgres() -> Option<Place> {
    let (address, schema) = schema().await?;
    let open = move || -> Arc<dyn Store> {
        Arc::new(PostgresStore::connect(&address).unwrap().schema(&schema))
    };
    Some(Place { open: Box::new(open), _folder: None })
}

/// The address of PostgreSQL, if there is one to test with, and the name of a schema that is not
/// there yet.
pub(crate) async fn schema() -> Option<(String, String)> {
    static SCHEMAS: AtomicUsize = AtomicUsize::new(0);
    // It tells where PostgreSQL is left out.
    let client = mcp_aql_tests_databases::postgres::connect().await?;
    let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
    // With a quote in it, which must not hurt.
    let schema = format!("store\"{}\"{number}", std::process::id());
    let quoted = schema.replace('"', "\"\"");
    client.batch_execute(&format!("DROP SCHEMA IF EXISTS \"{quoted}\" CASCADE")).await.unwrap();
    Some((std::env::var("MCP_AQL_TEST_POSTGRES").unwrap(), schema))
}
