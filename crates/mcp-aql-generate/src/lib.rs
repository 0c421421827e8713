//! Writes the source of an MCP-AQL adapter for the tables of an existing database.
//!
//! | module | contents |
//! |---|---|
//! | `database` | the database URL, requests and errors |
//! | `generation` | the steps from a request to a source file |
//! | `table` | the description of a table that both databases share |
//! | `postgres`, `sqlite` | read the description |
//! | `odd_values` | counts stored values that the types of their columns do not allow |
//! | `expression` | reads CHECK constraints and defaults |
//! | `resource` | decides about the resource of a table: names, options, defaults |
//! | `remarks` | reports the parts that a resource leaves out |
//! | `value_type`, `constraints` | the types of fields, and the constraints of parameters |
//! | `render` | writes the source |
//!
//! Use it through the command `mcp-aql-generate`; see its `--help`. If you call the library, start at [`generate`].
//!
//! ```console
//! $ mcp-aql-generate --database sqlite:shop.db --name shop > src/main.rs
//! ```
#![forbid(unsafe_code)]

mod constraints;
mod database;
mod expression;
mod generation;
mod names;
mod odd_values;
mod postgres;
mod remarks;
mod render;
mod resource;
mod sqlite;
mod table;
#[cfg(any(test, feature = "test-util"))]
pub mod test_util;
mod value_type;

pub use database::{Database, Error, Request};
pub use generation::{Generated, generate};
