//! An adapter for tables of a database, which `mcp-aql-generate` has written.
//!
//! ```console
//! $ cargo add mcp-aql --features query,postgres
//! $ cargo add serde --features derive
//! $ cargo add schemars --features chrono04
//! $ cargo add chrono --features serde
//! $ cargo add serde_json
//! $ cargo add tokio --features macros,rt-multi-thread
//! $ DATABASE_URL=postgres://user:password@localhost/database cargo run -- introspect
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
use mcp_aql::resource::{PostgresDatabase, SqlStore};
use serde::{Deserialize, Serialize};
use serde_json::Value;

// The column 'flag' of 'countries' is left out, because of its type 'bytea'.

/// A country.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "countries")]
struct Country {
    /// Identifier of the country.
    #[resource(id, filter, sort)]
    #[create_input(chosen)]
    #[param(max_length = 2)]
    code: String,
    /// Name.
    #[resource(filter, sort)]
    name: String,
}

/// Returns the store of the table `countries`.
fn countries(database: &PostgresDatabase) -> SqlStore<Country, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "countries");
    SqlStore::new(table, database.clone())
}

/// A person or company that orders.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "customers")]
struct Customer {
    /// Identifier of the customer.
    #[resource(id, filter, sort)]
    customer_id: i64,
    /// Full name.
    #[resource(filter, sort)]
    #[param(min_length = 1)]
    name: String,
    /// Email.
    #[resource(filter, sort)]
    #[param(max_length = 120)]
    email: Option<String>,
    /// Country.
    #[resource(filter, sort)]
    #[param(max_length = 2, default = "DE")]
    country: String,
    /// Created at.
    #[resource(read_only, filter, sort)]
    #[create_input(value = Utc::now())]
    created_at: DateTime<Utc>,
}

/// Returns the store of the table `customers`.
fn customers(database: &PostgresDatabase) -> SqlStore<Customer, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "customers").column("created_at", "createdAt");
    SqlStore::new(table, database.clone())
}

/// An order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "orders")]
struct Order {
    /// Identifier of the order.
    #[resource(id, filter, sort)]
    id: String,
    /// Customer.
    #[resource(filter, group, references = "customer")]
    customer_id: i64,
    /// Status.
    #[resource(filter, sort, group)]
    #[param(default = OrderStatus::Draft)]
    status: OrderStatus,
    /// Kind.
    #[resource(filter, sort, group)]
    kind: OrderKind,
    /// Number of pieces.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 1, maximum = 500)]
    quantity: i16,
    /// Price.
    ///
    /// At most 8 digits before the decimal point and 2 after it.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 0.0)]
    price: Option<f64>,
    /// Paid.
    #[resource(filter, group)]
    #[param(default = false)]
    paid: bool,
    /// Tags.
    #[resource(filter)]
    #[param(default = [])]
    tags: Vec<String>,
    /// Note.
    #[resource(filter, sort)]
    #[param(max_length = 500)]
    note: Option<String>,
    /// Extra.
    #[param(default = serde_json::json!({}))]
    extra: Value,
    /// Wanted.
    #[resource(filter, sort)]
    wanted: Option<NaiveDate>,
    /// Placed.
    #[resource(read_only, filter, sort)]
    #[create_input(value = Utc::now())]
    placed: DateTime<Utc>,
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
    /// The value `delivered`.
    Delivered,
}

/// The values of `kind`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum OrderKind {
    /// The value `retail`.
    Retail,
    /// The value `wholesale`.
    Wholesale,
}

/// Returns the store of the table `orders`.
fn orders(database: &PostgresDatabase) -> SqlStore<Order, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "orders")
        .column_type("id", "uuid")
        .column_type("status", "order_status")
        .column_type("tags", "text[]")
        .column_type("placed", "timestamp");
    SqlStore::new(table, database.clone())
}

/// Builds the adapter.
pub(crate) fn adapter(database: &PostgresDatabase) -> mcp_aql::Result<Adapter> {
    Ok(Adapter::builder("shop")
        .version(env!("CARGO_PKG_VERSION"))
        .resources((countries(database), customers(database), orders(database)))
        .build()?)
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let database = std::env::var("DATABASE_URL");
    let database = database.map_err(|_| mcp_aql::Error::other("set DATABASE_URL"))?;
    let database = PostgresDatabase::connect(&database).await?;
    adapter(&database).run().await
}
