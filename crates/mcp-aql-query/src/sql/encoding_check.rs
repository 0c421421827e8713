//! The check of a PostgreSQL database's encoding.

use std::sync::Arc;

use tokio::sync::OnceCell;

use super::{DatabaseError, SqlValue, Statement, Transaction};

/// Rejects a database that stores bytes without knowing their encoding. Values of other programs may be
/// invalid UTF-8 there, and comparisons of letters are wrong.
///
/// Clones share the result, so a database is checked once.
#[derive(Debug, Clone, Default)]
pub struct EncodingCheck(Arc<OnceCell<()>>);

impl EncodingCheck {
    /// Checks the database of a transaction, unless it was checked before.
    ///
    /// # Errors
    ///
    /// Returns an error if the encoding is `SQL_ASCII`, or the statement fails.
    pub async fn run(&self, transaction: &mut impl Transaction) -> Result<(), DatabaseError> {
        let check = move || async move {
            let sql = "SHOW server_encoding".to_owned();
            let rows = transaction.run(Statement { sql, values: Vec::new() }).await?;
            if rows.concat() != [SqlValue::Text("SQL_ASCII".to_owned())] {
                return Ok(());
            }
            let problem = "the database has the encoding SQL_ASCII, so its strings may have any encoding: move its \
                           tables to a database with the encoding UTF8";
            Err(DatabaseError::Other(problem.into()))
        };
        self.0.get_or_try_init(check).await.copied()
    }
}
