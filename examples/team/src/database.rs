//! Opens the database with sqlx, and holds the code that both databases share.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_aql::OperationError;
use mcp_aql::query::CursorKey;
use mcp_aql::query::sql::{SqlValue, Statement};
use mcp_aql::resource::{AccessMode, Database, DatabaseError, Transaction as _};
use ring::rand::{SystemRandom, generate};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{PgPool, SqlitePool};

/// Connects to PostgreSQL and creates missing tables.
pub(crate) async fn postgres(url: &str) -> Result<PgPool, sqlx::Error> {
    let pool = PgPool::connect(url).await?;
    let mut transaction = pool.begin().await?;
    // Take a lock, so that several processes that start at once do not create the same table at the same time.
    sqlx::query("SELECT pg_advisory_xact_lock(7465616)").execute(&mut *transaction).await?;
    sqlx::raw_sql(include_str!("../schema/postgres.sql")).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(pool)
}

/// Opens an SQLite file. A missing file and missing tables are created.
pub(crate) async fn sqlite(file: &Path) -> Result<SqlitePool, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_secs(10));
    let pool = SqlitePool::connect_with(options).await?;
    sqlx::raw_sql(include_str!("../schema/sqlite.sql")).execute(&pool).await?;
    Ok(pool)
}

/// Returns the key that signs cursors. All processes read the same key, so each accepts the cursors of the others.
pub(crate) async fn cursor_key(database: &impl Database) -> Result<CursorKey, Box<dyn Error>> {
    let random: [u8; 16] = generate(&SystemRandom::new()).map_err(|_| "no random bytes")?.expose();
    let read = read_or_create(database, &STANDARD.encode(random)).await;
    let secret = STANDARD.decode(read.map_err(OperationError::from)?)?;
    Ok(CursorKey::new(secret.try_into().map_err(|_| "the cursor key has another length")?))
}

async fn read_or_create(database: &impl Database, new: &str) -> Result<String, DatabaseError> {
    let mut transaction = database.begin(AccessMode::Write).await?;
    let insert = "INSERT INTO secret (name, value) VALUES ('cursor', $1) ON CONFLICT DO NOTHING";
    transaction.run(statement(insert, [new])).await?;
    let select = statement("SELECT value FROM secret WHERE name = 'cursor'", []);
    let rows = transaction.run(select).await?;
    transaction.commit().await?;
    match rows.concat().pop() {
        Some(SqlValue::Text(secret)) => Ok(secret),
        _ => Err("the table of secrets has no cursor key".into()),
    }
}

/// Creates a statement whose parameters are all strings.
pub(crate) fn statement<const N: usize>(sql: &str, values: [&str; N]) -> Statement {
    let values = values.map(|value| SqlValue::Text(value.to_owned())).into();
    Statement { sql: sql.to_owned(), values }
}
