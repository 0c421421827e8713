//! Stores for the state of adapters in databases: SQLite in one file, and PostgreSQL for several machines.
//!
//! Use this crate as `mcp_aql::store`, with the features `sqlite` and `postgres` of `mcp-aql`. The trait
//! [`StateStore`] documents the guarantees of every store.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
#[cfg_attr(
    not(all(feature = "sqlite", feature = "postgres")),
    expect(dead_code, reason = "each database has statements of its own")
)]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "postgres")]
pub use postgres::PostgresState;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteState;

use mcp_aql_core::store::{Change, Expected, NewRecord, StateRecord, StateStore, StoreError};
