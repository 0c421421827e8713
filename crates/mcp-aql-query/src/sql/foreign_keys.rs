//! Finds the reference that SQLite has rejected, because SQLite's error does not contain it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::database::Transaction;
use super::record_statements::quoted;
use super::value::{SqlValue, Statement};
use super::{DatabaseError, SqlTable};
use crate::records::Record;

/// A foreign key: the other table, and pairs of an own column and a column of the other table.
type ForeignKey = (String, Vec<(String, String)>);

/// Selects the columns of the foreign keys of a table. If the other column is not specified, it is the
/// primary key of the other table.
const KEYS: &str = "SELECT id, \"table\", \"from\", coalesce(\"to\",
        (SELECT name FROM pragma_table_info(key.\"table\") WHERE pk = key.seq + 1))
    FROM pragma_foreign_key_list(?) AS key";

impl<R: Record + Serialize> SqlTable<R> {
    /// Returns the columns of the record that refer to no row.
    pub(super) async fn columns_without_target(
        &self,
        transaction: &mut impl Transaction,
        record: &R,
    ) -> Result<Vec<String>, DatabaseError> {
        let record = serde_json::to_value(record)?;
        let keys = Statement {
            sql: KEYS.to_owned(),
            values: vec![SqlValue::Text(self.mapping.table.clone())],
        };
        let mut columns = Vec::new();
        for (table, pairs) in foreign_keys(transaction.run(keys).await?) {
            let mut values = Vec::with_capacity(pairs.len());
            let mut conditions = Vec::with_capacity(pairs.len());
            for (own, other) in &pairs {
                let path = self.fields_of_columns(std::slice::from_ref(own)).pop();
                values.extend(path.and_then(|path| sql_value(record.get(path)?)));
                conditions.push(format!("{} = ?", quoted(other)));
            }
            // SQL does not check a composite reference if one of its columns is missing.
            if values.len() < pairs.len() {
                continue;
            }
            let sql = format!(
                "SELECT 1 FROM {} WHERE {} LIMIT 1",
                quoted(&table),
                conditions.join(" AND ")
            );
            if transaction.run(Statement { sql, values }).await?.is_empty() {
                columns.extend(pairs.into_iter().map(|(own, _)| own));
            }
        }
        Ok(columns)
    }
}

/// Groups the rows of `pragma_foreign_key_list` by key.
fn foreign_keys(rows: Vec<Vec<SqlValue>>) -> impl Iterator<Item = ForeignKey> {
    let mut keys = BTreeMap::<i64, ForeignKey>::new();
    for row in rows {
        if let [
            SqlValue::Int(id),
            SqlValue::Text(table),
            SqlValue::Text(from),
            SqlValue::Text(to),
        ] = row.as_slice()
        {
            let (_, pairs) = keys.entry(*id).or_insert_with(|| (table.clone(), Vec::new()));
            pairs.push((from.clone(), to.clone()));
        }
    }
    keys.into_values()
}

fn sql_value(value: &Value) -> Option<SqlValue> {
    match value {
        Value::Number(number) => number.as_i64().map(SqlValue::Int),
        Value::String(text) => Some(SqlValue::Text(text.clone())),
        _ => None,
    }
}
