//! An adapter for tables of a database, which `mcp-aql-generate` has written.
//!
//! ```console
//! $ cargo add mcp-aql --features query,sqlite
//! $ cargo add serde --features derive
//! $ cargo add schemars
//! $ cargo add serde_json
//! $ cargo add tokio --features macros,rt-multi-thread
//! $ DATABASE_FILE=shop.db cargo run -- introspect
//! ```
//!
//! A string is searched if its field is marked `search`. Give a large table a column for it, with
//! `SqlTable::search_column`.
//!
//! Every caller may read, change and refer to all rows. If rows belong to tenants, give each store
//! `ResourceRules` with a row filter, which also applies to references.

use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{RusqliteDatabase, SqlStore};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A name.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "names")]
struct Name {
    /// Identifier of the name.
    #[resource(id, filter, sort)]
    id: i64,
    /// Name.
    #[resource(filter, sort)]
    name: String,
}

/// Returns the store of the table ``names`<U+000A>//!`.
fn names(database: &RusqliteDatabase) -> SqlStore<Name, RusqliteDatabase> {
    let table = SqlTable::new(Dialect::Sqlite, "`names`\n//!");
    SqlStore::new(table, database.clone())
}

// The column 'left <U+202E>out */ ```' of 'a'<U+000A>macro_rules! x {}<U+000A>//' is left out, because of its type 'BLOB'.
// The column 'extra' of 'a'<U+000A>macro_rules! x {}<U+000A>//' has the type 'JSON', with which SQLite changes a document such as 1.0, so callers do not set it. If it has only objects and lists, remove `read_only` and `create_input`.

/// An a macro rules x.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "a_macro_rules_x")]
struct AMacroRulesX {
    /// Identifier of the a macro rules x.
    #[resource(id, filter, sort)]
    id: i64,
    /// Operations.
    #[resource(filter, sort)]
    operations_value: String,
    /// Operation.
    #[resource(filter, sort)]
    operation_value: String,
    /// Params.
    #[resource(filter, sort, numeric)]
    params_value: Option<i64>,
    /// Two lines.
    #[resource(filter, sort)]
    #[param(default = "\"\\")]
    two_lines: String,
    /// Extra.
    #[resource(read_only)]
    #[create_input(
        value = serde_json::json!({"a": "\u{8}", "list": [1.5, null, true], "n": 3000000000_u64}),
    )]
    extra: Value,
    /// Kind.
    #[resource(filter, sort, group)]
    #[param(default = AMacroRulesXKind::Plain)]
    kind: AMacroRulesXKind,
}

/// The values of `kind`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum AMacroRulesXKind {
    /// The value `plain`.
    Plain,
    /// The value `line<U+000A>break`.
    #[serde(rename = "line\nbreak")]
    LineBreak,
    /// The value `*/ #[test]`.
    #[serde(rename = "*/ #[test]")]
    Test,
    /// The value ``.
    #[serde(rename = "")]
    V,
}

/// Returns the store of the table `a'<U+000A>macro_rules! x {}<U+000A>//`.
fn a_macro_rules_x(database: &RusqliteDatabase) -> SqlStore<AMacroRulesX, RusqliteDatabase> {
    let table = SqlTable::new(Dialect::Sqlite, "a'\nmacro_rules! x {}\n//")
        .column("operations_value", "operations")
        .column("operation_value", "operation")
        .column("params_value", "params")
        .column("two_lines", "two\nlines");
    SqlStore::new(table, database.clone())
}

/// Builds the adapter.
pub(crate) fn adapter(database: &RusqliteDatabase) -> mcp_aql::Result<Adapter> {
    Ok(Adapter::builder("shop")
        .version(env!("CARGO_PKG_VERSION"))
        .resources((names(database), a_macro_rules_x(database)))
        .build()?)
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let database = std::env::var("DATABASE_FILE");
    let database = database.map_err(|_| mcp_aql::Error::other("set DATABASE_FILE"))?;
    let database = RusqliteDatabase::open(database)?;
    adapter(&database).run().await
}
