//! Transactions outside of a store.

use std::str::FromStr as _;
use std::time::Duration;

use mcp_aql::query::sql::{SqlValue, Statement};
use mcp_aql::resource::{AccessMode, Database, DatabaseError, Transaction};
use mcp_aql_sqlx::{SqlxPostgres, SqlxSqlite};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;

use super::databases::{in_memory, in_postgres, pools};

type Rows = Result<Vec<Vec<SqlValue>>, DatabaseError>;

/// Runs a statement in a separate transaction.
async fn run(database: &impl Database, sql: &str, values: Vec<SqlValue>) -> Rows {
    let mut transaction = database.begin(AccessMode::Write).await?;
    let rows = transaction.run(Statement { sql: sql.to_owned(), values }).await?;
    transaction.commit().await?;
    Ok(rows)
}

fn text(text: &str) -> SqlValue {
    SqlValue::Text(text.to_owned())
}

/// Returns the message of a failed statement, and panics if it succeeded.
fn message(rows: Rows) -> String {
    match rows.unwrap_err() {
        DatabaseError::Unique(error) => format!("unique: {error}"),
        DatabaseError::Denied(error) | DatabaseError::Other(error) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn sqlite_keeps_the_types_of_values() {
    let database = SqlxSqlite::new(in_memory().await);
    let values = [
        SqlValue::Null,
        SqlValue::Int(i64::MIN),
        SqlValue::Float(0.1),
        SqlValue::Float(2.0),
        text("a\0b"),
        text(""),
    ];
    let rows = run(&database, "SELECT ?, ?, ?, ?, ?, ?", values.to_vec()).await.unwrap();
    assert_eq!(rows, [values]);
    let rows = run(&database, "SELECT ?", vec![SqlValue::Bool(true)]).await.unwrap();
    assert_eq!(rows, [[SqlValue::Int(1)]]);
    // The type of the column does not matter.
    let create = "CREATE TABLE odd (a DATETIME, b BOOLEAN, c INT4)";
    run(&database, create, Vec::new()).await.unwrap();
    let values = vec![text("2031-05-06"), SqlValue::Int(7), text("x")];
    run(&database, "INSERT INTO odd VALUES (?, ?, ?)", values.clone()).await.unwrap();
    let rows = run(&database, "SELECT a, b, c FROM odd", Vec::new()).await.unwrap();
    assert_eq!(rows, [values]);
    // Invalid UTF-8 is written back as a string.
    for (bytes, expected) in [
        ("SELECT x'00ff'", SqlValue::Bytes(vec![0, 0xff])),
        ("SELECT CAST(x'00ff' AS TEXT)", SqlValue::RawText(vec![0, 0xff])),
    ] {
        let rows = run(&database, bytes, Vec::new()).await.unwrap();
        assert_eq!(rows, [[expected]], "{bytes}");
    }
    let rows = run(&database, "SELECT ?", vec![SqlValue::Bytes(vec![0, 0xff])]).await.unwrap();
    assert_eq!(rows, [[SqlValue::Bytes(vec![0, 0xff])]]);
    assert!(message(run(&database, "SELECT ?, ?", vec![SqlValue::Null]).await).contains("fewer"));
}

#[tokio::test]
async fn postgres_checks_the_types_of_values() {
    let Some(pool) = in_postgres().await else { return };
    let database = SqlxPostgres::new(pool);
    let sql = "SELECT CAST($1 AS text), CAST($2 AS bigint), CAST($3 AS double precision), \
               CAST($4 AS boolean), CAST($5 AS varchar), 7, NULL::bigint";
    let mut values = vec![
        SqlValue::Null,
        SqlValue::Int(i64::MIN),
        SqlValue::Float(0.1),
        SqlValue::Bool(true),
        text("Straße"),
    ];
    let mut rows = run(&database, sql, values.clone()).await.unwrap();
    values.extend([SqlValue::Int(7), SqlValue::Null]);
    assert_eq!(rows.remove(0), values);
    let create = "CREATE TABLE odd (a varchar, b integer, c bigint)";
    run(&database, create, Vec::new()).await.unwrap();
    for (sql, value, fits) in [
        ("INSERT INTO odd (a) VALUES ($1)", text("x"), true),
        ("INSERT INTO odd (a) VALUES ($1)", SqlValue::Null, true),
        ("INSERT INTO odd (a) VALUES ($1)", SqlValue::Int(7), false),
        ("INSERT INTO odd (b) VALUES ($1)", SqlValue::Int(7), false),
        ("INSERT INTO odd (c) VALUES ($1)", SqlValue::Int(7), true),
        // Its eight bytes would be read as a number.
        ("INSERT INTO odd (c) VALUES ($1)", text("12345678"), false),
        ("INSERT INTO odd (c) VALUES ($1)", SqlValue::Null, false),
    ] {
        let result = run(&database, sql, vec![value.clone()]).await;
        assert_eq!(result.is_ok(), fits, "{sql}, {value:?}: {result:?}");
    }
    assert!(message(run(&database, "SELECT $1::text", Vec::new()).await).contains("fewer"));
    assert!(message(run(&database, "SELECT now()", Vec::new()).await).contains("mismatched types"));
    // A read transaction must not change anything.
    let mut transaction = database.begin(AccessMode::Read).await.unwrap();
    let delete = Statement { sql: "DELETE FROM odd".to_owned(), values: Vec::new() };
    assert!(message(transaction.run(delete).await).contains("read-only"));
}

#[tokio::test]
async fn postgres_reports_which_values_it_cannot_store() {
    let Some(pool) = in_postgres().await else { return };
    let database = SqlxPostgres::new(pool);
    for (kind, texts) in
        [("smallint", vec!["x", "70000"]), ("date", vec!["x", "2031-02-31"]), ("inet", vec!["x"])]
    {
        for value in texts {
            let sql = format!("SELECT CAST(CAST(CAST($1 AS text) AS {kind}) AS text)");
            let error = run(&database, &sql, vec![text(value)]).await.unwrap_err();
            assert!(matches!(error, DatabaseError::Value(_)), "{kind} {value}: {error:?}");
        }
    }
    let restrict = "DO $$ BEGIN RAISE SQLSTATE '23001'; END $$";
    let error = run(&database, restrict, Vec::new()).await.unwrap_err();
    assert!(matches!(error, DatabaseError::Reference(_)), "{error:?}");
}

#[tokio::test]
async fn statements_of_a_reader_see_the_same_state() {
    let pools = pools().await;
    see_the_same_state(&SqlxSqlite::new(pools.file.clone())).await;
    if let Some(pool) = &pools.postgres {
        see_the_same_state(&SqlxPostgres::new(pool.clone())).await;
    }
}

async fn see_the_same_state(database: &impl Database) {
    run(database, "CREATE TABLE text (it text)", Vec::new()).await.unwrap();
    let mut reader = database.begin(AccessMode::Read).await.unwrap();
    for writes in [true, false] {
        let sql = "SELECT count(*) FROM text".to_owned();
        let rows = reader.run(Statement { sql, values: Vec::new() }).await.unwrap();
        assert_eq!(rows, [[SqlValue::Int(0)]]);
        if writes {
            run(database, "INSERT INTO text VALUES ('a')", Vec::new()).await.unwrap();
        }
    }
    reader.commit().await.unwrap();
}

#[tokio::test]
async fn a_cancelled_call_that_waits_for_a_lock_leaves_the_pool() {
    let Some(pool) = in_postgres().await else { return };
    let database = SqlxPostgres::new(pool);
    run(&database, "CREATE TABLE text AS SELECT 'a' AS it", Vec::new()).await.unwrap();
    let update = || Statement { sql: "UPDATE text SET it = 'b'".to_owned(), values: Vec::new() };
    let mut first = database.begin(AccessMode::Write).await.unwrap();
    first.run(update()).await.unwrap();
    // Try more often than the pool has connections, four.
    for _ in 0..5 {
        let mut other = database.begin(AccessMode::Write).await.unwrap();
        let waiting = tokio::time::timeout(Duration::from_millis(100), other.run(update())).await;
        assert!(waiting.is_err(), "the other transaction has locked the row");
        let again = message(other.run(update()).await);
        assert!(again.contains("cancelled"), "{again}");
    }
    first.commit().await.unwrap();
    let rows = run(&database, "SELECT it FROM text", Vec::new()).await.unwrap();
    assert_eq!(rows, [[text("b")]]);
}

#[tokio::test]
async fn a_full_sqlite_database_can_be_used_again() {
    let pool = in_memory().await;
    let database = SqlxSqlite::new(pool.clone());
    run(&database, "CREATE TABLE text (it TEXT NOT NULL)", Vec::new()).await.unwrap();
    let pages = "PRAGMA max_page_count = 4";
    sqlx::query(pages).execute(&pool).await.unwrap();
    let long = text(&"x".repeat(100_000));
    // SQLite rolls back by itself.
    let full = message(run(&database, "INSERT INTO text VALUES (?)", vec![long]).await);
    assert!(full.contains("full"), "{full}");
    run(&database, "INSERT INTO text VALUES (?)", vec![text("short")]).await.unwrap();
    let rows = run(&database, "SELECT it FROM text", Vec::new()).await.unwrap();
    assert_eq!(rows, [[text("short")]]);
}

#[test]
fn a_transaction_is_rolled_back_after_its_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("sqlite:{}?mode=rwc", folder.path().join("test.db").display());
    let new_runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = new_runtime().unwrap();
    let transaction = runtime.block_on(async {
        let options = SqliteConnectOptions::from_str(&path).unwrap();
        let database = SqlxSqlite::new(SqlitePool::connect_with(options).await.unwrap());
        run(&database, "CREATE TABLE text (it TEXT NOT NULL)", Vec::new()).await.unwrap();
        let mut transaction = database.begin(AccessMode::Write).await.unwrap();
        let sql = "INSERT INTO text VALUES (?)".to_owned();
        transaction.run(Statement { sql, values: vec![text("a")] }).await.unwrap();
        transaction
    });
    drop(transaction);
    drop(runtime);
    new_runtime().unwrap().block_on(async {
        let database = SqlxSqlite::new(SqlitePool::connect(&path).await.unwrap());
        let rows = run(&database, "SELECT it FROM text", Vec::new()).await.unwrap();
        assert_eq!(rows, Vec::<Vec<SqlValue>>::new());
    });
}
