//! The traits to implement for a database driver.

use std::future::Future;

use super::{DatabaseError, Dialect, SqlValue, Statement};

/// A database driver for [`SqlStore`](super::SqlStore).
///
/// You only need to implement it for a driver without a ready implementation. `RusqliteDatabase` (feature
/// `sqlite`), `PostgresDatabase` (feature `postgres`), and `SqlxSqlite` and `SqlxPostgres` (crate
/// `mcp-aql-sqlx`) are ready.
pub trait Database: Send + Sync + 'static {
    /// Dialect of the database.
    const DIALECT: Dialect;

    /// Type of the transactions. If one is dropped without [`commit`](Transaction::commit), it changes
    /// nothing.
    type Transaction: Transaction;

    /// Returns a number that identifies the database. It is equal for clones, so use for example the address
    /// of a shared allocation.
    ///
    /// A transaction of a store also checks references to other stores with the same identity.
    fn identity(&self) -> usize;

    /// Begins a transaction.
    ///
    /// - All statements of a READ transaction must see the same state. In SQLite, every transaction does. In
    ///   PostgreSQL, use `REPEATABLE READ`.
    /// - If two WRITE transactions change the same record, the second must wait. In SQLite, use `BEGIN
    ///   IMMEDIATE`. In PostgreSQL, every transaction waits.
    ///
    /// # Errors
    ///
    /// Returns the error of the driver.
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
    ///
    /// Returns the error of the driver.
    fn run(
        &mut self,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<Vec<SqlValue>>, DatabaseError>> + Send;

    /// Ends the transaction and keeps its changes.
    ///
    /// # Errors
    ///
    /// Returns the error of the driver.
    fn commit(self) -> impl Future<Output = Result<(), DatabaseError>> + Send;
}
