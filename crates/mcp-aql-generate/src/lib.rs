//! Writes the source of an MCP-AQL adapter for the tables of an existing database.
//!
//! | module | contents |
//! |---|---|
//! | `table` | the description of a table that both databases share |
//! | `postgres`, `sqlite` | read the description |
//! | `expression` | reads CHECK constraints and defaults |
//! | `resource` | decides about the resource of a table: names, types, options |
//! | `render` | writes the source |
//!
//! The command `mcp-aql-generate` is the interface; see its `--help`.
#![forbid(unsafe_code)]

mod database;
mod expression;
mod names;
mod postgres;
mod render;
mod resource;
mod sqlite;
mod table;

pub use database::{Database, Error, Request, generate};
