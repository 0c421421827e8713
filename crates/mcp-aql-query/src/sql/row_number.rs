//! Finds the name of SQLite's internal row number, used to distinguish rows without an identifier.

use super::database::Transaction;
use super::dialect::Dialect;
use super::record_statements::column_name;
use super::value::{SqlValue, Statement};
use super::{DatabaseError, SqlTable};
use crate::records::Record;

/// The names of the row number. A column of the table can hide one of them.
const NAMES: [&str; 3] = ["rowid", "_rowid_", "oid"];

impl<R: Record> SqlTable<R> {
    /// Finds the name of the row number, if the table may have several rows without an identifier. The name
    /// is found once.
    ///
    /// A primary key of SQLite accepts NULL, unless the table is `WITHOUT ROWID` or the key is the row number
    /// itself.
    pub(super) async fn find_row_number(
        &self,
        transaction: &mut impl Transaction,
    ) -> Result<(), DatabaseError> {
        let is_known = self.row_number.get().is_some();
        if is_known || self.dialect() == Dialect::Postgres {
            return Ok(());
        }
        let rows = transaction.run(self.row_number_statement()).await?;
        let found = match rows.first().and_then(|row| row.first()) {
            Some(SqlValue::Text(found)) => NAMES.into_iter().find(|name| name == found),
            _ => None,
        };
        self.row_number.get_or_init(|| found);
        Ok(())
    }

    fn row_number_statement(&self) -> Statement {
        let context = self.context(chrono::Utc::now());
        let column = column_name(&context, R::ID.name).to_owned();
        let mut values = vec![SqlValue::Text(self.mapping.table.clone()), SqlValue::Text(column)];
        let mut table = "?1";
        if let Some(schema) = &self.mapping.schema {
            values.push(SqlValue::Text(schema.clone()));
            table = "?1, ?3";
        }
        let [first, second, third] = NAMES;
        let sql = format!(
            "SELECT name FROM (SELECT '{first}' AS name UNION ALL SELECT '{second}' UNION ALL SELECT '{third}') AS alias
            WHERE NOT EXISTS (SELECT 1 FROM pragma_table_xinfo({table}) AS own WHERE lower(own.name) = alias.name)
                AND EXISTS (SELECT 1 FROM pragma_table_list({table}) WHERE type = 'table' AND wr = 0)
                AND EXISTS (SELECT 1 FROM pragma_table_info({table}) AS key
                    WHERE lower(key.name) = lower(?2) AND key.\"notnull\" = 0
                        AND (key.pk = 0 OR EXISTS (SELECT 1 FROM pragma_index_list({table}) WHERE origin = 'pk')))
            LIMIT 1"
        );
        Statement { sql, values }
    }
}
