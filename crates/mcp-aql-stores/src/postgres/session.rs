//! One attempt to run statements on one connection.

use std::time::Duration;

use deadpool_postgres::{Client, GenericClient, Object, Pool};
use mcp_aql_core::store::StoreError;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{IsolationLevel, Row};

use super::RESPONSE_TIMEOUT;
use super::failure::Failure;
use crate::sql::{Statement, Tables, TransactionStep, Upgrade, Value};

/// The timeout of a migration, and of waiting for the migration of another process. Changing the layout of
/// many records takes longer than the usual statement timeout.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(300);
/// The advisory lock of a migration: an arbitrary number that other programs are unlikely to use.
const MIGRATION_LOCK: i64 = 0x006d_6370_5f61_716c;

/// Runs a query and returns its rows.
pub(super) async fn rows(pool: &Pool, statement: &Statement) -> Result<Vec<Vec<Value>>, Failure> {
    let client = pool.get().await?;
    let done = limited(RESPONSE_TIMEOUT, query(&client, statement)).await;
    return_connection(client, done)
}

/// Runs the steps in one transaction and returns the number of changed rows. Returns `None` if a deciding
/// step changed no row.
pub(super) async fn transact(
    pool: &Pool,
    steps: &[TransactionStep],
) -> Result<Option<u64>, Failure> {
    let mut client = pool.get().await?;
    let done = limited(RESPONSE_TIMEOUT, transaction(&mut client, steps)).await;
    return_connection(client, done)
}

/// Migrates the tables to the current layout.
pub(super) async fn migrate(pool: &Pool, tables: &Tables, schema: &str) -> Result<(), Failure> {
    let mut client = pool.get().await?;
    let done = limited(MIGRATION_TIMEOUT, migration(&mut client, tables, schema)).await;
    return_connection(client, done)
}

async fn limited<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(Failure::no_response(limit)))
}

/// Returns the connection to the pool, unless it is broken.
fn return_connection<T>(client: Client, done: Result<T, Failure>) -> Result<T, Failure> {
    if done.as_ref().is_err_and(|failure| failure.lost) {
        drop(Object::take(client));
    }
    done
}

/// Begins a writable transaction, regardless of the server's defaults.
///
/// Read committed is sufficient. Each condition is part of a statement that changes its row, and such a
/// statement locks the row before it reads the committed version.
async fn begin(client: &mut Client) -> Result<deadpool_postgres::Transaction<'_>, Failure> {
    let builder = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted);
    Ok(builder.read_only(false).start().await?)
}

async fn transaction(
    client: &mut Client,
    steps: &[TransactionStep],
) -> Result<Option<u64>, Failure> {
    let transaction = begin(client).await?;
    let mut all = 0;
    for step in steps {
        let changed = execute(&transaction, &step.statement).await?;
        if step.decides && changed != 1 {
            transaction.rollback().await?;
            return Ok(None);
        }
        all += changed;
    }
    transaction.commit().await.map_err(Failure::at_commit)?;
    Ok(Some(all))
}

async fn migration(client: &mut Client, tables: &Tables, schema: &str) -> Result<(), Failure> {
    let transaction = begin(client).await?;
    let alone = format!(
        "SET LOCAL statement_timeout = {}; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})",
        MIGRATION_TIMEOUT.as_millis()
    );
    transaction.batch_execute(&alone).await?;
    let there = query(&transaction, &tables.tables_query()?).await?;
    let layout = if Tables::is_ours(&there) {
        Some(query(&transaction, &tables.layout_query()?).await?)
    } else {
        None
    };
    let place = format!("the schema {schema:?} in PostgreSQL");
    if let Upgrade::Steps(statements) = tables.upgrade(&there, layout.as_deref(), &place)? {
        // Create the schema only if it is missing, because even `IF NOT EXISTS` requires the permission to
        // create it.
        let found = query(&transaction, &tables.schema_query()?).await?;
        if found.is_empty() {
            execute(&transaction, &Tables::create_schema(schema)).await?;
        }
        for statement in &statements {
            execute(&transaction, statement).await?;
        }
    }
    transaction.commit().await.map_err(Failure::at_commit)
}

/// Converts values to the parameters of a prepared statement.
fn bound<'a>(values: &'a [Value], types: &[Type]) -> Vec<&'a (dyn ToSql + Sync)> {
    let each = values.iter().zip(types).map(|(value, kind)| -> &(dyn ToSql + Sync) {
        match value {
            Value::Text(text) => text,
            Value::Int(number) => number,
            Value::Null if *kind == Type::INT8 => &None::<i64>,
            Value::Null | Value::Unknown => &None::<String>,
        }
    });
    each.collect()
}

async fn execute(client: &impl GenericClient, statement: &Statement) -> Result<u64, Failure> {
    let prepared = client.prepare_cached(&statement.sql).await?;
    let values = bound(&statement.values, prepared.params());
    Ok(client.execute(&prepared, &values).await?)
}

async fn query(
    client: &impl GenericClient,
    statement: &Statement,
) -> Result<Vec<Vec<Value>>, Failure> {
    let prepared = client.prepare_cached(&statement.sql).await?;
    let values = bound(&statement.values, prepared.params());
    let rows = client.query(&prepared, &values).await?;
    rows.iter().map(row).collect()
}

fn row(row: &Row) -> Result<Vec<Value>, Failure> {
    let value = |(place, column): (usize, &tokio_postgres::Column)| {
        Ok(match *column.type_() {
            Type::TEXT => row.try_get::<_, Option<String>>(place)?.map(Value::Text),
            Type::INT8 => row.try_get::<_, Option<i64>>(place)?.map(Value::Int),
            ref other => {
                let message = format!("a column of the unsupported type {other}");
                return Err(StoreError::Unreadable(message).into());
            }
        }
        .unwrap_or(Value::Null))
    };
    row.columns().iter().enumerate().map(value).collect()
}
