//! Stores sales in an SQLite table in memory. The row id is its only index.

use rusqlite::{Connection, params};
use serde::Serialize;

use crate::Result;
use crate::sales::Sale;

const TABLE: &str = "CREATE TABLE sales (
    sale_id INTEGER PRIMARY KEY, customer TEXT NOT NULL, region TEXT NOT NULL, status TEXT NOT NULL,
    quantity INTEGER NOT NULL, cents INTEGER NOT NULL, weight REAL NOT NULL, due TEXT NOT NULL,
    sold_at INTEGER NOT NULL, tags TEXT NOT NULL, note TEXT, discount INTEGER)";

/// Creates a database in memory with these sales.
pub(crate) fn filled(sales: &[Sale]) -> Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute(TABLE, [])?;
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
pub(crate) fn name(choice: &impl Serialize) -> Result<String> {
    let name = serde_json::to_value(choice)?;
    Ok(name.as_str().unwrap_or_default().to_owned())
}
