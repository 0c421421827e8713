//! The traits that connect a driver.

use std::future::Future;

use super::{DatabaseError, Dialect, SqlValue, Statement};

/// A database, for [`SqlStore`](super::SqlStore): what connects a driver.
///
/// `RusqliteDatabase` (feature `rusqlite`) and `PostgresDatabase` (feature `tokio-postgres`) implement it, and so do
/// `SqlxSqlite` and `SqlxPostgres` of the crate `mcp-aql-sqlx`.
pub trait Database: Send + Sync + 'static {
    /// The dialect of the database.
    const DIALECT: Dialect;

    /// A transaction. One that is dropped without [`commit`](Transaction::commit) changes nothing.
    type Transaction: Transaction;

    /// Returns a number that is equal for values of the same database, such as the address of what its clones share. A
    /// transaction of one of them also checks references to stores over the others.
    fn identity(&self) -> usize;

    /// Begins a transaction. All statements of a READ transaction must see the same state: any transaction of SQLite,
    /// `REPEATABLE READ` in PostgreSQL. Of two WRITE transactions that change the same record, the second must wait:
    /// `BEGIN IMMEDIATE` in SQLite, any transaction of PostgreSQL.
    ///
    /// # Errors
    /// The error of the driver.
    fn begin(
        &self,
        access: AccessMode,
    ) -> impl Future<Output = Result<Self::Transaction, DatabaseError>> + Send;
}

/// The purpose of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// The transaction only reads.
    Read,
    /// The transaction changes records.
    Write,
}

/// A transaction of a [`Database`].
pub trait Transaction: Send {
    /// Runs a statement and returns its rows, each with a value for each column.
    ///
    /// # Errors
    /// The error of the driver.
    fn run(
        &mut self,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<Vec<SqlValue>>, DatabaseError>> + Send;

    /// Ends the transaction and keeps its changes.
    ///
    /// # Errors
    /// The error of the driver.
    fn commit(self) -> impl Future<Output = Result<(), DatabaseError>> + Send;
}
