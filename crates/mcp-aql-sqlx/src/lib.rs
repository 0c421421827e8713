//! Stores of [mcp-aql](https://docs.rs/mcp-aql) in the pools of [sqlx](https://docs.rs/sqlx).
//!
//! `SqlStore` of mcp-aql keeps the records of a resource in a table. This crate connects it to a pool of sqlx:
//!
//! | feature | database | pool |
//! |---|---|---|
//! | `sqlite` | [`SqlxSqlite`] | `sqlx::SqlitePool` |
//! | `postgres` | [`SqlxPostgres`] | `sqlx::PgPool` |
//!
//! Neither feature is on by default. Stores behave as those of mcp-aql's own drivers, rusqlite and tokio-postgres.
//!
//! # Dependencies
//!
//! ```toml
//! [dependencies]
//! mcp-aql = { version = "0.1", features = ["sql"] }
//! mcp-aql-sqlx = { version = "0.1", features = ["sqlite"] }
//! sqlx = { version = "0.9", default-features = false, features = ["runtime-tokio"] }
//! ```
//!
//! One binary can contain only one version of SQLite, and sqlx 0.9 asks for another one than rusqlite 0.41. Therefore
//! the feature `sqlite` of this crate cannot be used together with the features `rusqlite`, `sqlite`, `safety` and
//! `console` of mcp-aql. sqlx 0.9 needs Rust 1.94.

#![forbid(unsafe_code)]

#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod open;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "postgres")]
pub use postgres::{SqlxPostgres, SqlxPostgresTransaction};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqlxSqlite, SqlxSqliteTransaction};
