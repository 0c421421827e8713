//! Stores sales in tables of SQLite and PostgreSQL.

use rusqlite::{Connection, params};
use serde::Serialize;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

use super::sales::Sale;
use crate::Result;

const SQLITE_TABLE: &str = "CREATE TABLE sales (
    sale_id INTEGER PRIMARY KEY, customer TEXT NOT NULL, region TEXT NOT NULL, status TEXT NOT NULL,
    quantity INTEGER NOT NULL, cents INTEGER NOT NULL, weight REAL NOT NULL, due TEXT NOT NULL,
    sold_at INTEGER NOT NULL, tags TEXT NOT NULL, note TEXT, discount INTEGER)";

/// Creates a database of SQLite in memory with these sales. The row id is its only index.
pub(super) fn sqlite(sales: &[Sale]) -> Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute(SQLITE_TABLE, [])?;
    let transaction = connection.transaction()?;
    {
        let mut insert =
            transaction.prepare("INSERT INTO sales VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for sale in sales {
            insert.execute(params![
                i64::try_from(sale.sale_id)?,
                sale.customer,
                sale.region,
                name(&sale.status)?,
                sale.quantity,
                sale.cents,
                sale.weight,
                sale.due.to_string(),
                sale.sold_at.timestamp_millis(),
                serde_json::to_string(&sale.tags)?,
                sale.note,
                sale.discount,
            ])?;
        }
    }
    transaction.commit()?;
    Ok(connection)
}

/// Returns the name of an enum variant in JSON.
pub(super) fn name(choice: &impl Serialize) -> Result<String> {
    let name = serde_json::to_value(choice)?;
    Ok(name.as_str().unwrap_or_default().to_owned())
}

const POSTGRES_TABLE: &str = "CREATE TEMPORARY TABLE sales (
    sale_id bigint PRIMARY KEY, customer text NOT NULL, region text NOT NULL, status text NOT NULL,
    quantity bigint NOT NULL, cents bigint NOT NULL, weight double precision NOT NULL,
    due date NOT NULL, sold_at timestamptz NOT NULL, tags jsonb NOT NULL, note text,
    discount bigint)";

const POSTGRES_INSERT: &str = "INSERT INTO sales
    SELECT * FROM jsonb_populate_recordset(NULL::sales, CAST(CAST($1 AS text) AS jsonb))";

/// Number of sales per INSERT statement.
const INSERT_BATCH_SIZE: usize = 10_000;

/// Connects to PostgreSQL and creates a temporary table with these sales.
pub(super) fn postgres(runtime: &Runtime, address: &str, sales: &[Sale]) -> Result<Client> {
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        // The task ends when the client is dropped.
        tokio::spawn(connection);
        client.batch_execute(POSTGRES_TABLE).await?;
        for some in sales.chunks(INSERT_BATCH_SIZE) {
            client.execute(POSTGRES_INSERT, &[&serde_json::to_string(some)?]).await?;
        }
        client
            .batch_execute("CREATE INDEX ON sales (sold_at DESC, sale_id); ANALYZE sales")
            .await?;
        Ok(client)
    })
}
