//! Implementations of [`Database`](super::Database) for common drivers.

#[cfg(feature = "sqlite")]
mod rusqlite;
#[cfg(feature = "postgres")]
mod tokio_postgres;

#[cfg(feature = "sqlite")]
pub use rusqlite::{RusqliteDatabase, RusqliteTransaction, driver as rusqlite_driver};
#[cfg(feature = "postgres")]
pub use tokio_postgres::{PostgresDatabase, PostgresTransaction};
