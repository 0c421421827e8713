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
//! sqlx 0.9 needs Rust 1.94.
//!
//! # Beside rusqlite
//!
//! The features `sqlite`, `safety` and `console` of mcp-aql use SQLite through rusqlite, also in the same
//! program:
//!
//! ```toml
//! [dependencies]
//! mcp-aql = { version = "0.1", features = ["query", "sqlite"] }
//! mcp-aql-sqlx = { version = "0.1", features = ["sqlite"] }
//! sqlx = { version = "0.9", default-features = false, features = ["runtime-tokio"] }
//! ```
//!
//! One binary can contain only one version of SQLite. mcp-aql accepts several versions of rusqlite, and cargo chooses
//! 0.39, whose SQLite sqlx 0.9 accepts as well. A program that names rusqlite itself must name this version too.

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
