//! An adapter for tables of a database, which `mcp-aql-generate` has written.
//!
//! ```console
//! $ cargo add mcp-aql --features query,sqlite
//! $ cargo add serde --features derive
//! $ cargo add schemars --features chrono04
//! $ cargo add chrono --features serde
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

use chrono::{DateTime, NaiveDate, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{RusqliteDatabase, SqlStore};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A customer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "customers")]
struct Customer {
    /// Identifier of the customer.
    #[resource(id, filter, sort)]
    customer_id: i64,
    /// Name.
    #[resource(filter, sort)]
    #[param(min_length = 1)]
    name: String,
    /// Email.
    #[resource(filter, sort)]
    #[param(max_length = 120)]
    email: Option<String>,
    /// Created at.
    #[resource(read_only, filter, sort)]
    #[create_input(value = Utc::now())]
    created_at: DateTime<Utc>,
}

/// Returns the store of the table `customers`.
fn customers(database: &RusqliteDatabase) -> SqlStore<Customer, RusqliteDatabase> {
    let table = SqlTable::new(Dialect::Sqlite, "customers")
        .column("created_at", "createdAt")
        .column_type("created_at", "datetime");
    SqlStore::new(table, database.clone())
}

// The column 'extra' of 'orders' has the type 'JSON', with which SQLite changes a document such as 1.0, so callers do not set it. If it has only objects and lists, remove `read_only` and `create_input`.

/// An order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "orders")]
struct Order {
    /// Identifier of the order.
    #[resource(id, filter, sort)]
    id: i64,
    /// Customer.
    #[resource(filter, group, references = "customer")]
    customer_id: i64,
    /// Status.
    #[resource(filter, sort, group)]
    #[param(default = OrderStatus::Draft)]
    status: OrderStatus,
    /// Quantity.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 1, maximum = 499)]
    quantity: i64,
    /// Price.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 0.0, maximum = 1000000.0)]
    price: Option<f64>,
    /// Paid.
    #[resource(filter, group)]
    #[param(default = false)]
    paid: bool,
    /// Extra.
    #[resource(read_only)]
    #[create_input(value = serde_json::json!({}))]
    extra: Value,
    /// Wanted.
    #[resource(filter, sort)]
    wanted: Option<NaiveDate>,
    /// Type.
    #[resource(filter, sort)]
    r#type: Option<String>,
    /// Row version.
    #[resource(read_only)]
    #[create_input(value = 1)]
    #[serde(rename = "_version")]
    version: i64,
}

/// The values of `status`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum OrderStatus {
    /// The value `draft`.
    Draft,
    /// The value `open`.
    Open,
    /// The value `in-transit`.
    #[serde(rename = "in-transit")]
    InTransit,
    /// The value `Delivered`.
    #[serde(rename = "Delivered")]
    Delivered,
}

/// Returns the store of the table `orders`.
fn orders(database: &RusqliteDatabase) -> SqlStore<Order, RusqliteDatabase> {
    let table = SqlTable::new(Dialect::Sqlite, "orders").column("_version", "row_version");
    SqlStore::new(table, database.clone())
}

// The column 'picture' of 'photos' is left out, because of its type 'BLOB'. New records need it, so they cannot be created.

/// A photo.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(operations(get, list, update, delete), plural = "photos")]
struct Photo {
    /// Identifier of the photo.
    #[resource(id, filter, sort)]
    photo_id: i64,
    /// Order.
    #[resource(filter, group, references = "order")]
    order_id: i64,
    /// Title.
    #[resource(filter, sort)]
    title: Option<String>,
}

/// Returns the store of the table `photos`.
fn photos(database: &RusqliteDatabase) -> SqlStore<Photo, RusqliteDatabase> {
    let table = SqlTable::new(Dialect::Sqlite, "photos");
    SqlStore::new(table, database.clone())
}

/// Builds the adapter.
pub(crate) fn adapter(database: &RusqliteDatabase) -> mcp_aql::Result<Adapter> {
    Ok(Adapter::builder("shop")
        .version(env!("CARGO_PKG_VERSION"))
        .resources((customers(database), orders(database), photos(database)))
        .build()?)
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let database = std::env::var("DATABASE_FILE");
    let database = database.map_err(|_| mcp_aql::Error::other("set DATABASE_FILE"))?;
    let database = RusqliteDatabase::open(database)?;
    adapter(&database).run().await
}
