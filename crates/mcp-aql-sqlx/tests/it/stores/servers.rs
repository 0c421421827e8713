//! Servers of PostgreSQL that do not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use mcp_aql::query::sql::Statement;
use mcp_aql::resource::{AccessMode, Database, DatabaseError, Transaction, WaitLimits};
use mcp_aql_sqlx::SqlxPostgres;
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgPoolOptions;

use super::databases::in_postgres;
use super::silent_server::{FROZEN, RUNNING, UNTIL_COMMIT, stand_between};

fn statement(sql: &str) -> Statement {
    Statement { sql: sql.to_owned(), values: Vec::new() }
}

/// Runs a call, and panics if it does not end in time.
async fn in_time<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), call).await.expect("waiting is bounded")
}

#[tokio::test]
async fn a_database_without_an_encoding_is_rejected() {
    let Some(pool) = in_postgres().await else { return };
    let name = format!("sqlx_ascii_{}", std::process::id());
    let create =
        format!("CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    for sql in [format!("DROP DATABASE IF EXISTS {name}"), create] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.unwrap();
    }
    let options = pool.connect_options().as_ref().clone().database(&name);
    let pool = PgPoolOptions::new().max_connections(2).connect_with(options).await.unwrap();
    for access in [AccessMode::Read, AccessMode::Write] {
        let error = SqlxPostgres::new(pool.clone()).begin(access).await.unwrap_err();
        let error = format!("{error:?}");
        assert!(error.contains("the database has the encoding SQL_ASCII"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_left() {
    let Some(direct) = in_postgres().await else { return };
    let options = direct.connect_options();
    let Some(server) = options.get_socket().cloned() else { return };
    let (folder, state) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU8::new(RUNNING)));
    stand_between(folder.path(), server, Arc::clone(&state)).await;
    let options = options.as_ref().clone().socket(folder.path());
    let pool = PgPoolOptions::new().max_connections(2).connect_with(options).await.unwrap();
    let limits = WaitLimits::default()
        .connection(Duration::from_millis(500))
        .statement(Duration::from_millis(200));
    let database = SqlxPostgres::new(pool.clone()).wait_limits(limits);
    for access in [AccessMode::Read, AccessMode::Write] {
        state.store(RUNNING, Ordering::SeqCst);
        let mut transaction = in_time(database.begin(access)).await.unwrap();
        transaction.run(statement("SELECT 1")).await.unwrap();
        state.store(FROZEN, Ordering::SeqCst);
        let refused = in_time(transaction.run(statement("SELECT 2"))).await;
        assert!(matches!(refused, Err(DatabaseError::Busy(_))), "{refused:?}");
        drop(transaction);
        let refused = in_time(database.begin(access)).await;
        assert!(matches!(refused, Err(DatabaseError::Busy(_))), "{refused:?}");
        state.store(RUNNING, Ordering::SeqCst);
        let transaction = in_time(async {
            loop {
                // The connection without an answer is closed first.
                if let Ok(transaction) = database.begin(access).await {
                    break transaction;
                }
            }
        });
        let transaction = transaction.await;
        state.store(UNTIL_COMMIT, Ordering::SeqCst);
        let committed = in_time(transaction.commit()).await;
        match access {
            AccessMode::Read => assert!(matches!(committed, Err(DatabaseError::Busy(_)))),
            AccessMode::Write => assert!(matches!(committed, Err(DatabaseError::Unknown(_)))),
        }
    }
    state.store(RUNNING, Ordering::SeqCst);
}
