//! Runs the tests on PostgreSQL, with tokio-postgres.

use std::io::Write as _;

use mcp_aql::query::sql::{SqlValue, Statement};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls};

use crate::Item;
use crate::sqlite::Failure;

/// Executes a statement. The executor needs no other code for this driver.
///
/// # Errors
///
/// Returns the errors of the driver.
pub async fn execute(client: &Client, statement: Statement) -> Result<Vec<Vec<SqlValue>>, Failure> {
    let values = statement.values.into_iter().map(|value| -> Box<dyn ToSql + Send + Sync> {
        match value {
            SqlValue::Null => Box::new(None::<String>),
            SqlValue::Bool(value) => Box::new(value),
            SqlValue::Int(value) => Box::new(value),
            SqlValue::Float(value) => Box::new(value),
            SqlValue::Text(text) => Box::new(text),
            SqlValue::Bytes(bytes) | SqlValue::RawText(bytes) => Box::new(bytes),
        }
    });
    let values: Vec<_> = values.collect();
    let values: Vec<_> = values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
    let rows = client.query(&statement.sql, &values).await?;
    let row = |row: &tokio_postgres::Row| {
        let value = |(column, info): (usize, &tokio_postgres::Column)| {
            Ok(match *info.type_() {
                Type::BOOL => row.try_get::<_, Option<bool>>(column)?.map(SqlValue::Bool),
                Type::INT4 => {
                    row.try_get::<_, Option<i32>>(column)?.map(|it| SqlValue::Int(it.into()))
                }
                Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map(SqlValue::Int),
                Type::FLOAT8 => row.try_get::<_, Option<f64>>(column)?.map(SqlValue::Float),
                _ => row.try_get::<_, Option<String>>(column)?.map(SqlValue::Text),
            }
            .unwrap_or(SqlValue::Null))
        };
        row.columns().iter().enumerate().map(value).collect::<Result<Vec<_>, Failure>>()
    };
    rows.iter().map(row).collect()
}

/// The table of [items](Item). Its collation is linguistic, to show that it does not influence the order of queries.
pub const SCHEMA: &str = r#"
    CREATE TEMPORARY TABLE "it""ems" (
        id text COLLATE "en-x-icu" NOT NULL,
        title varchar COLLATE "en-x-icu" NOT NULL, "title words" text NOT NULL,
        body text COLLATE "en-x-icu", "body words" text,
        tags jsonb NOT NULL, "tags words" text NOT NULL,
        numbers jsonb, state text NOT NULL, former text,
        rank bigint, size bigint NOT NULL, weight double precision,
        share double precision, ratio real NOT NULL,
        done boolean NOT NULL, paid boolean, due date,
        created timestamptz NOT NULL, "closed at" bigint, seen text COLLATE "en-x-icu" NOT NULL,
        place jsonb, team_name text COLLATE "en-x-icu" NOT NULL, "team ""lead""" text,
        extra jsonb NOT NULL, score bigint NOT NULL, deleted integer NOT NULL DEFAULT 0
    )"#;

/// Connects to the PostgreSQL server of the tests. Returns `None` without a server.
///
/// If you get `None` in a test, return: the test then passes without a server.
pub async fn connect() -> Option<Client> {
    let Ok(address) = std::env::var("MCP_AQL_TEST_POSTGRES") else {
        // Write to the terminal directly: the test harness hides the output of passing tests.
        let _ = writeln!(
            std::io::stderr(),
            "MCP_AQL_TEST_POSTGRES is not set: PostgreSQL is left out (scripts/postgres.sh)"
        );
        return None;
    };
    let (client, connection) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(async move { connection.await.unwrap() });
    // Use unusual settings, because results must not depend on them.
    client
        .batch_execute("SET DateStyle = 'German'; SET TimeZone = 'Asia/Kathmandu'")
        .await
        .unwrap();
    Some(client)
}

/// Connects and creates an empty temporary table.
pub async fn database() -> Option<Client> {
    let client = connect().await?;
    client.batch_execute(SCHEMA).await.unwrap();
    Some(client)
}

/// Inserts rows.
pub async fn insert(client: &Client, items: &[Item]) {
    let statement = r#"
        INSERT INTO "it""ems" SELECT
            item_id, title, w1, body, w2, coalesce(tags, '[]'), w3, nullif(numbers, 'null'), state, former, rank, size,
            weight, share, ratio, done, paid, due, created,
            CAST(extract(epoch FROM closed) * 1000 AS bigint), seen, nullif(place, 'null'),
            team ->> 'name', team ->> 'lead', coalesce(extra, 'null'), score
        FROM jsonb_to_recordset(CAST(CAST($1 AS text) AS jsonb)) AS given (
            item_id text, title text, w1 text, body text, w2 text, tags jsonb, w3 text, numbers jsonb,
            state text, former text, rank bigint, size bigint, weight double precision,
            share double precision, ratio real, done boolean, paid boolean, due date,
            created timestamptz, closed timestamptz, seen text, place jsonb, team jsonb, extra jsonb,
            score bigint)"#;
    let rows: Vec<_> = items
        .iter()
        .map(|item| {
            let mut row = serde_json::to_value(item).unwrap();
            let [title, body, tags] = item.words();
            row["w1"] = title.into();
            row["w2"] = body.into();
            row["w3"] = tags.into();
            row
        })
        .collect();
    let text = serde_json::to_string(&rows).unwrap();
    client.execute(statement, &[&text]).await.unwrap();
}

/// Creates a schema and returns a pool of connections to it.
pub async fn pool_with_schema() -> Option<deadpool_postgres::Pool> {
    let client = connect().await?;
    let schema = format!("s_{}", new_name());
    client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.unwrap();
    let mut config: tokio_postgres::Config =
        std::env::var("MCP_AQL_TEST_POSTGRES").unwrap().parse().unwrap();
    config.options(format!("-c search_path={schema}"));
    let manager = deadpool_postgres::Manager::new(config, NoTls);
    Some(deadpool_postgres::Pool::builder(manager).max_size(4).build().unwrap())
}

/// Creates a database with these tables and returns its address.
pub async fn new_database(tables: &str) -> Option<String> {
    let client = connect().await?;
    let name = format!("d_{}", new_name());
    client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let address = std::env::var("MCP_AQL_TEST_POSTGRES").unwrap();
    let database = format!("{address} dbname={name}");
    let (client, connection) = tokio_postgres::connect(&database, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(tables).await.unwrap();
    Some(database)
}

/// Returns a name that no other test uses.
fn new_name() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let process = std::process::id();
    let nanoseconds = chrono::Utc::now().timestamp_nanos_opt().unwrap_or_default();
    format!("{process}_{nanoseconds}_{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}
