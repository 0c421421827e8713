//! An adapter for tables of a database, which `mcp-aql-generate` has written.
//!
//! ```console
//! $ cargo add mcp-aql --features query,sqlite
//! $ cargo add serde --features derive
//! $ cargo add schemars --features chrono04
//! $ cargo add chrono --features serde
//! $ cargo add tokio --features macros,rt-multi-thread
//! $ DATABASE_FILE=shop.db cargo run -- introspect
//! ```
//!
//! A string is searched if its field is marked `search`. Give a large table a column for it, with
//! `SqlTable::search_column`.
//!
//! Every caller may read, change and refer to all rows. If rows belong to tenants, give each store
//! `ResourceRules` with a row filter, which also applies to references.

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{RusqliteDatabase, SqlStore};
use serde::{Deserialize, Serialize};

// The default of the column 'and' of 't0staticstaticstaticstaticstaticstaticstaticstaticstaticstat' does not apply: a new record without it has no value.

/// A t0staticstaticstaticstaticstaticstaticstaticst.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "t0staticstaticstaticstaticstaticstaticstaticstat")]
struct T0staticstaticstaticstaticstaticstaticstaticstat {
    /// Identifier of the t0staticstaticstaticstaticstaticstaticstaticstat.
    #[resource(id, filter, sort)]
    #[create_input(chosen)]
    user_id: String,
    /// X.
    #[resource(filter, sort)]
    x: Option<DateTime<Utc>>,
    /// Union.
    #[resource(filter, sort)]
    union: DateTime<Utc>,
    /// And.
    #[resource(filter, sort)]
    and_value: Option<String>,
}

/// Returns the store of the table `t0staticstaticstaticstaticstaticstaticstaticstaticstaticstat`.
fn t0staticstaticstaticstaticstaticstaticstaticstat(database: &RusqliteDatabase) -> SqlStore<T0staticstaticstaticstaticstaticstaticstaticstat, RusqliteDatabase> {
    let table = SqlTable::new(Dialect::Sqlite, "t0staticstaticstaticstaticstaticstaticstaticstaticstaticstat")
        .column("user_id", "user-id")
        .column("x", "日本")
        .column_type("x", "datetime")
        .column_type("union", "datetime")
        .column("and_value", "and");
    SqlStore::new(table, database.clone())
}

// The column 'updatelimit' of 't1<U+000B>' is left out, because of its type 'BLOB'.

/// A t1.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "t1")]
struct T1 {
    /// Identifier of the t1.
    #[resource(id, filter, sort)]
    x1_table: i64,
    /// Belongs to.
    #[resource(filter, group, references = "t0staticstaticstaticstaticstaticstaticstaticstat")]
    belongs_to: Option<i64>,
}

/// Returns the store of the table `t1<U+000B>`.
fn t1(database: &RusqliteDatabase) -> SqlStore<T1, RusqliteDatabase> {
    let table = SqlTable::new(Dialect::Sqlite, "t1\u{b}")
        .column("x1_table", "1\u{fe0f}table")
        .column("belongs_to", "belongs to");
    SqlStore::new(table, database.clone())
}

// The table 't2' gives new records no identifier, so they cannot be created.

/// A t2.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(operations(get, list, update, delete), singular = "t2")]
struct T2 {
    /// Identifier of the t2.
    #[resource(id, filter, sort)]
    x: i64,
    /// Dyn.
    ///
    /// The database requires `" dyn" <> 'after'`.
    #[resource(filter, sort)]
    #[param(max_length = 3)]
    r#dyn: Option<String>,
    /// X.
    #[resource(read_only, filter, sort)]
    x_value: Option<NaiveDate>,
    /// Belongs to.
    #[resource(filter, group, references = "t0staticstaticstaticstaticstaticstaticstaticstat")]
    belongs_to: Option<i64>,
}

/// Returns the store of the table `t2`.
fn t2(database: &RusqliteDatabase) -> SqlStore<T2, RusqliteDatabase> {
    let table = SqlTable::new(Dialect::Sqlite, "t2")
        .column("x", "")
        .column("dyn", "\rdyn")
        .column("x_value", "//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!//!")
        .column("belongs_to", "belongs to");
    SqlStore::new(table, database.clone())
}

/// A t3chronochronochronochronochronochronochronoch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "t3chronochronochronochronochronochronochronochro")]
struct T3chronochronochronochronochronochronochronochro {
    /// Identifier of the t3chronochronochronochronochronochronochronochro.
    #[resource(id, filter, sort)]
    #[create_input(chosen)]
    x: String,
    /// X.
    #[resource(filter, sort)]
    x_value: Option<DateTime<Utc>>,
    /// I.
    #[resource(filter, sort)]
    i: DateTime<Utc>,
    /// Belongs to.
    #[resource(filter, group, references = "t0staticstaticstaticstaticstaticstaticstaticstat")]
    belongs_to: Option<i64>,
}

/// Returns the store of the table `t3chronochronochronochronochronochronochronochronochronochro`.
fn t3chronochronochronochronochronochronochronochro(database: &RusqliteDatabase) -> SqlStore<T3chronochronochronochronochronochronochronochro, RusqliteDatabase> {
    let table = SqlTable::new(Dialect::Sqlite, "t3chronochronochronochronochronochronochronochronochronochro")
        .column("x", "(")
        .column("x_value", "")
        .column_type("x_value", "datetime")
        .column("i", "İ")
        .column_type("i", "datetime")
        .column("belongs_to", "belongs to");
    SqlStore::new(table, database.clone())
}

/// Builds the adapter.
pub(crate) fn adapter(database: &RusqliteDatabase) -> mcp_aql::Result<Adapter> {
    Ok(Adapter::builder("shop")
        .version(env!("CARGO_PKG_VERSION"))
        .resources((
            t0staticstaticstaticstaticstaticstaticstaticstat(database),
            t1(database),
            t2(database),
            t3chronochronochronochronochronochronochronochro(database),
        ))
        .build()?)
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let database = std::env::var("DATABASE_FILE");
    let database = database.map_err(|_| mcp_aql::Error::other("set DATABASE_FILE"))?;
    let database = RusqliteDatabase::open(database)?;
    adapter(&database).run().await
}
