//! An adapter for tables of a database, which `mcp-aql-generate` has written.
//!
//! ```console
//! $ cargo add mcp-aql --features query,postgres
//! $ cargo add serde --features derive
//! $ cargo add schemars --features chrono04
//! $ cargo add chrono --features serde
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

/// An adapter.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "adapter")]
struct AdapterRow {
    /// Identifier of the adapter.
    #[resource(id, filter, sort)]
    id: i32,
    /// Upper.
    #[resource(filter, sort, numeric)]
    upper: Option<i32>,
    /// Upper.
    #[resource(filter, sort, numeric)]
    upper_value: Option<i32>,
    /// A b.
    #[resource(filter, sort, numeric)]
    a_b: Option<i32>,
    /// A b.
    #[resource(filter, sort, numeric)]
    a_b_value: Option<i32>,
    /// Id.
    #[resource(filter, sort)]
    id_value: Option<String>,
    /// X.
    #[resource(filter, sort, numeric)]
    x: Option<i32>,
    /// X.
    #[resource(filter, sort, numeric)]
    x_value: Option<i32>,
    /// Filter.
    #[resource(filter, sort)]
    filter: Option<String>,
    /// Sort.
    #[resource(filter, sort, numeric)]
    sort: Option<i32>,
    /// Gre.
    #[resource(filter, sort, numeric)]
    gre: Option<i32>,
}

/// Returns the store of the table `adapter`.
fn adapter_rows(database: &PostgresDatabase) -> SqlStore<AdapterRow, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "adapter")
        .column("upper", "UPPER")
        .column("upper_value", "upper")
        .column("a_b", "a-b")
        .column("a_b_value", "a b")
        .column("id_value", "ID")
        .column("x", "_")
        .column("x_value", "日本")
        .column("gre", "größe");
    SqlStore::new(table, database.clone())
}

/// A code.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "codes")]
struct Code {
    /// Identifier of the code.
    #[resource(id, filter, sort)]
    #[create_input(chosen)]
    #[param(max_length = 2)]
    code: String,
    /// Name.
    #[resource(filter, sort)]
    name: Option<String>,
}

/// Returns the store of the table `codes`.
fn codes(database: &PostgresDatabase) -> SqlStore<Code, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "codes");
    SqlStore::new(table, database.clone())
}

/// A detail.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "details")]
struct Detail {
    /// Identifier of the detail.
    #[resource(id, filter, sort, references = "main")]
    #[create_input(chosen)]
    main_id: i32,
    /// Note.
    #[resource(filter, sort)]
    note: Option<String>,
    /// Place.
    #[resource(read_only, filter, sort, numeric)]
    #[create_input(value = 0)]
    place: i64,
    /// Turn.
    #[resource(read_only, filter, sort, numeric)]
    #[create_input(value = 0)]
    turn: i16,
}

/// Returns the store of the table `details`.
fn details(database: &PostgresDatabase) -> SqlStore<Detail, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "details")
        .expression("place", |_| mcp_aql::query::sql::sea_query::Expr::col("Place"))
        .expression("turn", |_| mcp_aql::query::sql::sea_query::Expr::col("turn"));
    SqlStore::new(table, database.clone())
}

// The column 'other_id' of 'main' is no reference, because it refers to the schema 'o'neil<U+000A>'.

/// A main.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Main {
    /// Identifier of the main.
    #[resource(id, filter, sort)]
    id: i32,
    /// Main.
    #[resource(filter, sort, numeric)]
    main: Option<i32>,
    /// Other id.
    #[resource(filter, sort, numeric)]
    other_id: Option<i32>,
}

/// Returns the store of the table `main`.
fn main_rows(database: &PostgresDatabase) -> SqlStore<Main, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "main");
    SqlStore::new(table, database.clone())
}

/// An option.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "option", plural = "options")]
struct OptionRow {
    /// Identifier of the option.
    #[resource(id, filter, sort)]
    id: i32,
    /// Value.
    #[resource(filter, sort)]
    value: Option<String>,
    /// Self.
    #[resource(filter, sort, numeric)]
    self_value: Option<i32>,
    /// Super.
    #[resource(filter, sort, numeric)]
    super_value: Option<i32>,
    /// Crate.
    #[resource(filter, sort, numeric)]
    crate_value: Option<i32>,
    /// Type.
    #[resource(filter, sort, group)]
    r#type: Option<OptionType>,
}

/// The values of `type`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum OptionType {
    /// The value ``.
    #[serde(rename = "")]
    V,
    /// The value `1st`.
    #[serde(rename = "1st")]
    V1st,
    /// The value `Self`.
    #[serde(rename = "Self")]
    VSelf,
    /// The value `in transit`.
    #[serde(rename = "in transit")]
    InTransit,
    /// The value `In-Transit`.
    #[serde(rename = "In-Transit")]
    InTransitX,
}

/// Returns the store of the table `options`.
fn options(database: &PostgresDatabase) -> SqlStore<OptionRow, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "options")
        .column("self_value", "self")
        .column("super_value", "super")
        .column("crate_value", "crate")
        .column_type("type", "odd");
    SqlStore::new(table, database.clone())
}

/// An order filter.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "order_filter")]
struct OrderFilterRow {
    /// Identifier of the order filter.
    #[resource(id, filter, sort)]
    id: i32,
    /// Owner.
    #[resource(filter, group, references = "order")]
    owner: Option<i32>,
    /// Owner.
    #[resource(filter, group)]
    owner_id: Option<i32>,
}

/// Returns the store of the table `order_filter`.
fn order_filter(database: &PostgresDatabase) -> SqlStore<OrderFilterRow, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "order_filter");
    SqlStore::new(table, database.clone())
}

// The default of the column 'wide' of 'order_items' does not apply: a new record without it is an error.
// The default of the column 'far' of 'order_items' does not apply: a new record without it is an error.
// The default of the column 'level' of 'order_items' does not apply: a new record without it is an error.

/// An order item.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "order_item", plural = "order_items")]
struct OrderItem {
    /// Identifier of the order item.
    #[resource(id, filter, sort)]
    id: i32,
    /// Status.
    #[resource(filter, sort, group)]
    status: Option<OrderItemStatus>,
    /// Amount.
    #[resource(filter, sort, numeric)]
    amount: Option<f64>,
    /// Truth.
    #[resource(filter, group)]
    truth: Option<bool>,
    /// Code.
    #[resource(filter, group, references = "code")]
    code: Option<OrderItemCode>,
    /// Wide.
    #[resource(filter, sort, numeric)]
    wide: i16,
    /// Far.
    #[resource(filter, sort, numeric)]
    far: i32,
    /// One.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 6, maximum = 6)]
    one: Option<i32>,
    /// None.
    #[resource(filter, sort, numeric)]
    none: Option<i32>,
    /// Level.
    ///
    /// The database requires `((level)::numeric = ANY (ARRAY['9223372036854775808'::numeric, (1)::numeric]))`.
    #[resource(filter, sort, numeric)]
    level: i64,
}

/// The values of `status`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum OrderItemStatus {
    /// The value `open`.
    Open,
    /// The value `closed`.
    Closed,
}

/// The values of `code`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum OrderItemCode {
    /// The value `de`.
    De,
    /// The value `fr`.
    Fr,
}

/// Returns the store of the table `order_items`.
fn order_items(database: &PostgresDatabase) -> SqlStore<OrderItem, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "order_items");
    SqlStore::new(table, database.clone())
}

// The default of the column 'share' of 'order_update' does not apply: a new record without it is an error.
// The default of the column 'low' of 'order_update' does not apply: a new record without it is an error.
// The default of the column 'long' of 'order_update' does not apply: a new record without it is an error.
// The default of the column 'draft' of 'order_update' does not apply: a new record without it has no value.
// The default of the column 'since' of 'order_update' does not apply: a new record without it is an error.
// The default of the column 'pair' of 'order_update' does not apply: a new record without it is an error.
// The column 'nothing' of 'order_update' is left out, because of its type 'empty'.
// The column 'twice' of 'order_update' is left out, because the database computes it.

/// */ "\"
///
/// second line
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "order_update")]
struct OrderUpdateRow {
    /// Identifier of the order update.
    #[resource(id, filter, sort)]
    id: i32,
    /// Share.
    #[resource(filter, sort, numeric)]
    share: f64,
    /// Low.
    #[resource(filter, sort, numeric)]
    #[param(minimum = 1, maximum = 5)]
    low: i16,
    /// Long.
    #[resource(filter, sort)]
    #[param(max_length = 5)]
    long: String,
    /// Never.
    #[resource(filter, sort, numeric)]
    never: Option<i32>,
    /// Draft.
    #[resource(filter, sort)]
    draft: Option<String>,
    /// Since.
    #[resource(filter, sort)]
    since: NaiveDate,
    /// Pair.
    #[resource(filter)]
    pair: Vec<String>,
    /// Clock.
    #[resource(read_only, filter, sort)]
    #[create_input(value = Utc::now())]
    clock: DateTime<Utc>,
    /// Bits.
    #[resource(filter)]
    bits: Option<String>,
    /// Part.
    #[resource(filter, sort, numeric)]
    #[param(default = 5)]
    part: i16,
}

/// Returns the store of the table `order_update`.
fn order_update(database: &PostgresDatabase) -> SqlStore<OrderUpdateRow, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "order_update")
        .column_type("pair", "text[]")
        .column_type("bits", "bit(3)");
    SqlStore::new(table, database.clone())
}

/// An order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "orders")]
struct Order {
    /// Identifier of the order.
    #[resource(id, filter, sort)]
    id: i32,
    /// Filter.
    #[resource(filter, sort, group)]
    filter: Option<OrderFilterValue>,
    /// Item status.
    #[resource(filter, sort, group)]
    item_status: Option<OrderItemStatusValue>,
}

/// The values of `filter`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum OrderFilterValue {
    /// The value `a`.
    A,
    /// The value `b`.
    B,
}

/// The values of `item_status`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum OrderItemStatusValue {
    /// The value `a`.
    A,
    /// The value `b`.
    B,
}

/// Returns the store of the table `orders`.
fn orders(database: &PostgresDatabase) -> SqlStore<Order, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "orders");
    SqlStore::new(table, database.clone())
}

// The table 'parted' gives new records no identifier, so they cannot be created.

/// A parted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(operations(get, list, update, delete))]
struct Parted {
    /// Identifier of the parted.
    #[resource(id, filter, sort)]
    id: i64,
    /// Day.
    #[resource(filter, sort)]
    day: Option<NaiveDate>,
}

/// Returns the store of the table `parted`.
fn parted(database: &PostgresDatabase) -> SqlStore<Parted, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "parted");
    SqlStore::new(table, database.clone())
}

/// A t1.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "t1")]
struct T1 {
    /// Identifier of the t1.
    #[resource(id, filter, sort)]
    id: i64,
    /// Name.
    #[resource(filter, sort)]
    name: String,
}

/// Returns the store of the table `t1`.
fn t1(database: &PostgresDatabase) -> SqlStore<T1, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "t1");
    SqlStore::new(table, database.clone())
}

/// A t2.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "t2")]
struct T2 {
    /// Identifier of the t2.
    #[resource(id, filter, sort)]
    id: i64,
    /// Name.
    #[resource(filter, sort)]
    #[param(max_length = 7)]
    name: String,
    /// Odd.
    #[resource(filter, sort, group)]
    odd: Option<T2Odd>,
    /// Price of one piece.
    ///
    /// At most 4 digits before the decimal point and 2 after it.
    #[resource(filter, sort, numeric)]
    price: Option<f64>,
    /// Whole.
    ///
    /// At most 5 digits before the decimal point and 0 after it.
    #[resource(filter, sort, numeric)]
    whole: Option<f64>,
    /// Any number.
    #[resource(filter, sort, numeric)]
    any_number: Option<f64>,
    /// List.
    #[resource(filter)]
    list: Option<Vec<f64>>,
}

/// The values of `odd`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
enum T2Odd {
    /// The value ``.
    #[serde(rename = "")]
    V,
    /// The value `1st`.
    #[serde(rename = "1st")]
    V1st,
    /// The value `Self`.
    #[serde(rename = "Self")]
    VSelf,
    /// The value `in transit`.
    #[serde(rename = "in transit")]
    InTransit,
    /// The value `In-Transit`.
    #[serde(rename = "In-Transit")]
    InTransitX,
}

/// Returns the store of the table `t2`.
fn t2(database: &PostgresDatabase) -> SqlStore<T2, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "t2")
        .column_type("odd", "odd")
        .column_type("list", "numeric(5,1)[]");
    SqlStore::new(table, database.clone())
}

/// A value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, singular = "value", plural = "values")]
struct ValueRow {
    /// Identifier of the value.
    #[resource(id, filter, sort)]
    id: String,
    /// Operation.
    #[resource(filter, sort)]
    operation_value: String,
    /// Params.
    #[resource(filter, sort)]
    params_value: Option<String>,
    /// And.
    #[resource(filter, sort, numeric)]
    and_value: Option<i32>,
    /// Or.
    #[resource(filter, sort, numeric)]
    or_value: Option<i32>,
    /// Not.
    #[resource(filter, group)]
    not_value: Option<bool>,
}

/// Returns the store of the table `values`.
fn values(database: &PostgresDatabase) -> SqlStore<ValueRow, PostgresDatabase> {
    let table = SqlTable::new(Dialect::Postgres, "values")
        .column_type("id", "uuid")
        .column("operation_value", "operation")
        .column("params_value", "params")
        .column("and_value", "and")
        .column("or_value", "or")
        .column("not_value", "not");
    SqlStore::new(table, database.clone())
}

/// Builds the adapter.
pub(crate) fn adapter(database: &PostgresDatabase) -> mcp_aql::Result<Adapter> {
    Ok(Adapter::builder("shop")
        .version(env!("CARGO_PKG_VERSION"))
        .resources((
            adapter_rows(database),
            codes(database),
            details(database),
            main_rows(database),
            options(database),
            order_filter(database),
            order_items(database),
            order_update(database),
            orders(database),
            parted(database),
            t1(database),
            t2(database),
            values(database),
        ))
        .build()?)
}

#[tokio::main]
async fn main() -> mcp_aql::Result<()> {
    let database = std::env::var("DATABASE_URL");
    let database = database.map_err(|_| mcp_aql::Error::other("set DATABASE_URL"))?;
    let database = PostgresDatabase::connect(&database).await?;
    adapter(&database).run().await
}
