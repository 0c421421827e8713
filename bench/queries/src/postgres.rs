//! Stores sales in a temporary table of PostgreSQL.

use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

use crate::Result;
use crate::sales::Sale;

const TABLE: &str = "CREATE TEMPORARY TABLE sales (
    sale_id bigint PRIMARY KEY, customer text NOT NULL, region text NOT NULL, status text NOT NULL,
    quantity bigint NOT NULL, cents bigint NOT NULL, weight double precision NOT NULL,
    due date NOT NULL, sold_at timestamptz NOT NULL, tags jsonb NOT NULL, note text,
    discount bigint)";

const INSERT: &str = "INSERT INTO sales
    SELECT * FROM jsonb_populate_recordset(NULL::sales, CAST(CAST($1 AS text) AS jsonb))";

/// Number of sales per INSERT statement.
const INSERT_BATCH_SIZE: usize = 10_000;

/// Connects to a database and creates a temporary table with these sales.
pub(crate) fn filled(runtime: &Runtime, address: &str, sales: &[Sale]) -> Result<Client> {
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        // The task ends when the client is dropped.
        tokio::spawn(connection);
        client.batch_execute(TABLE).await?;
        for some in sales.chunks(INSERT_BATCH_SIZE) {
            client.execute(INSERT, &[&serde_json::to_string(some)?]).await?;
        }
        client
            .batch_execute("CREATE INDEX ON sales (sold_at DESC, sale_id); ANALYZE sales")
            .await?;
        Ok(client)
    })
}
