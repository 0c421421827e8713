//! Databases of drivers that people use.

#[cfg(feature = "rusqlite")]
mod rusqlite;
#[cfg(feature = "tokio-postgres")]
mod tokio_postgres;

#[cfg(feature = "rusqlite")]
pub use rusqlite::{RusqliteDatabase, RusqliteTransaction, driver as rusqlite_driver};
#[cfg(feature = "tokio-postgres")]
pub use tokio_postgres::{PostgresDatabase, PostgresTransaction};
