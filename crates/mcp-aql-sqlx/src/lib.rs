//! Stores of [mcp-aql](https://docs.rs/mcp-aql) in the pools of [sqlx](https://docs.rs/sqlx).
//!
//! `SqlStore` of mcp-aql keeps the records of a resource in a table. Use this crate to connect it to your
//! pool:
//!
//! | feature | database | pool |
//! |---|---|---|
//! | `sqlite` | [`SqlxSqlite`] | `sqlx::SqlitePool` |
//! | `postgres` | [`SqlxPostgres`] | `sqlx::PgPool` |
//!
//! Neither feature is enabled by default. Stores behave like those of mcp-aql's own drivers, rusqlite and
//! tokio-postgres.
//!
//! # Dependencies
//!
//! ```toml
//! [dependencies]
//! mcp-aql = { version = "0.1", features = ["query"] }
//! mcp-aql-sqlx = { version = "0.1", features = ["sqlite"] }
//! sqlx = { version = "0.9", default-features = false, features = ["runtime-tokio"] }
//! ```
//!
//! sqlx 0.9 needs Rust 1.94.
//!
//! # Together with rusqlite
//!
//! The features `sqlite`, `safety` and `console` of mcp-aql use SQLite through rusqlite. You can
//! use them in the same program:
//!
//! ```toml
//! [dependencies]
//! mcp-aql = { version = "0.1", features = ["query", "sqlite"] }
//! mcp-aql-sqlx = { version = "0.1", features = ["sqlite"] }
//! sqlx = { version = "0.9", default-features = false, features = ["runtime-tokio"] }
//! ```
//!
//! A binary can contain only one version of SQLite. mcp-aql accepts several versions of rusqlite, and cargo
//! selects 0.39, because sqlx 0.9 accepts the SQLite of this version as well. If your program depends on
//! rusqlite itself, it must use this version too.

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
