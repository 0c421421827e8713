//! Tests that an adapter does not start with a store that it cannot use.

use std::path::Path;

use mcp_aql::prelude::*;
use mcp_aql::store::{PostgresState, SqliteState, StateStore};
use mcp_aql::{Adapter, HttpOptions};
use rusqlite::Connection;
use tokio::net::TcpListener;

use super::fixture::file;

/// Read the clock.
#[operation(category = "READ", rationale = "it computes and stores nothing")]
fn read_clock() -> u8 {
    12
}

/// Returns the error of an adapter with this store at its start.
async fn refusal(store: impl StateStore) -> String {
    let builder = Adapter::builder("hall").without_config().operation(read_clock {});
    let adapter = builder.store(store).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = adapter.serve_listener(listener, HttpOptions::new(), std::future::pending());
    let served = tokio::time::timeout(std::time::Duration::from_secs(60), serving).await;
    served.expect("the adapter serves").unwrap_err().to_string()
}

#[tokio::test]
async fn an_unusable_store_prevents_the_start_with_one_sentence() {
    let (_folder, later) = file();
    let sql = "CREATE TABLE mcp_aql_layout (number); INSERT INTO mcp_aql_layout VALUES (7)";
    Connection::open(&later).unwrap().execute_batch(sql).unwrap();
    let (_folder, text) = file();
    std::fs::write(&text, "no database at all, and long enough".repeat(20)).unwrap();
    let nowhere = "host=/nonexistent user=ada password=secret dbname=x";
    for (refusal, expected) in [
        (refusal(SqliteState::open(&later)).await, "has layout 7, but this program supports"),
        (refusal(SqliteState::open(&text)).await, "is not an SQLite database: move it away"),
        (
            refusal(SqliteState::open(Path::new("/dev/null/state.db"))).await,
            "this user needs write access to the file and its directory",
        ),
        (refusal(PostgresState::connect(nowhere).unwrap()).await, "PostgreSQL: error connecting"),
    ] {
        let begin = "the adapter cannot start, because its store cannot be used: ";
        assert!(refusal.starts_with(begin) && refusal.contains(expected), "{refusal}");
        assert!(!refusal.contains('\n') && !refusal.contains("secret"), "{refusal}");
    }
}

#[tokio::test]
async fn a_read_only_file_prevents_the_start() {
    let (_folder, file) = file();
    SqliteState::open(&file).prepare().await.unwrap();
    // A trigger stands for a read-only file, because root could write to such a file.
    let sql = "CREATE TRIGGER refusal BEFORE INSERT ON record
        BEGIN SELECT RAISE(ABORT, 'attempt to write a readonly database'); END";
    Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    let refusal = refusal(SqliteState::open(&file)).await;
    assert!(refusal.contains("attempt to write a readonly database"), "{refusal}");
}
