//! Tests adapters that `mcp-aql-generate` has written for databases. If you change the generator, write them again:
//!
//! ```console
//! $ UPDATE_GENERATED=1 scripts/postgres.sh cargo test -p mcp-aql-tests-databases generated
//! ```

#[expect(dead_code, reason = "the tests do not call `main`")]
mod foreign_sqlite;
mod foreign_tables;
#[expect(dead_code, reason = "the tests do not call `main`")]
mod odd_postgres;
#[expect(dead_code, reason = "the tests do not call `main`")]
#[rustfmt::skip]
mod random_sqlite;
#[expect(dead_code, reason = "the tests do not call `main`")]
mod shop_postgres;
#[expect(dead_code, reason = "the tests do not call `main`")]
mod shop_sqlite;

use std::path::Path;

use mcp_aql::Adapter;
use mcp_aql::query::sql::Dialect;
use mcp_aql::resource::{PostgresDatabase, RusqliteDatabase};
use mcp_aql::testing::conformance::Settings;
use mcp_aql::testing::conformance_report;
use mcp_aql_generate::{Database, Request, generate};
use mcp_aql_tests_databases::postgres;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

/// Generates an adapter and compares its source with the committed file. Returns the remarks.
async fn is_as_committed(database: Database, file: &str) -> Vec<String> {
    let request = Request { database, schema: None, tables: Vec::new(), name: "shop".to_owned() };
    let generated = generate(&request).await.unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/generated").join(file);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, &generated.source).unwrap();
    }
    assert_eq!(generated.source, std::fs::read_to_string(&path).unwrap());
    generated.remarks
}

async fn call(adapter: &Adapter, operation: &str, params: Value) -> Value {
    let result = adapter.call(operation, params).await;
    assert!(result.error().is_none(), "{operation}: {:?}", result.error());
    result.data().clone()
}

/// Creates a customer with an order, changes the order and finds it again.
async fn serves(adapter: &Adapter, order: Value) {
    let created =
        call(adapter, "create_customer", json!({ "name": "Ada", "email": "a@b.c" })).await;
    let customer = created["customer"]["customer_id"].clone();
    let mut params = order;
    params["customer_id"] = customer.clone();
    let created = call(adapter, "create_order", params).await;
    assert_eq!(created["order"]["status"], "draft", "{created}");
    let id = created["order"]["id"].clone();
    let input = json!({ "status": "in-transit", "price": 12.5, "wanted": "2031-05-06" });
    let changed = call(adapter, "update_order", json!({ "id": id, "input": input })).await;
    assert_eq!(changed["order"]["price"], 12.5);
    let filter =
        json!({ "status": "in-transit", "wanted": { "gte": "2031-05-06" }, "paid": false });
    let listed = call(adapter, "list_orders", json!({ "filter": filter })).await;
    assert_eq!(listed["items"][0]["id"], id);
    let root = json!({ "element_type": "customer", "element_name": customer.to_string() });
    let walk = json!({ "root": root, "direction": "incoming" });
    let related = call(adapter, "query_relationships", walk).await;
    assert_eq!(related["relationships"][0]["target"]["element_type"], "order");
    let without = adapter.call("create_order", json!({ "customer_id": customer })).await;
    assert_eq!(without.error().unwrap().code, "VALIDATION_MISSING_PARAM");
}

/// Checks that the adapter does not violate the protocol. It need not reach a conformance level, because the runner
/// would also need data that it may change, and values for the foreign keys.
async fn conforms(adapter: &Adapter) {
    let report = conformance_report(adapter, Settings::default().allow_all()).await.unwrap();
    assert_ne!(report.exit_code(), 1, "{}", report.text(false));
}

/// Creates the tables in memory. With files, writes could take seconds, because other tests write at the same time.
fn in_memory(tables: &str) -> RusqliteDatabase {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(tables).unwrap();
    RusqliteDatabase::new(connection)
}

#[tokio::test]
async fn tables_of_sqlite_become_an_adapter() {
    // REQ-COL-04, REQ-UPD-01, REQ-REL-01
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("shop_sqlite.sql")).unwrap();
    let remarks = [
        "The table 'order_items' has a primary key of 2 columns. A resource has one identifier.",
        "The column 'extra' of 'orders' has the type 'JSON', with which SQLite changes a document such as 1.0, so callers do not set it. If it has only objects and lists, remove `read_only` and `create_input`.",
        "The column 'picture' of 'photos' is left out, because of its type 'BLOB'. New records need it, so they cannot be created.",
    ];
    let database = Database::Sqlite(path.to_str().unwrap().to_owned());
    assert_eq!(is_as_committed(database, "shop_sqlite.rs").await, remarks);
    let adapter = shop_sqlite::adapter(&in_memory(include_str!("shop_sqlite.sql"))).unwrap();
    serves(&adapter, json!({ "quantity": 3, "type": "gift" })).await;
    let outdated = json!({ "id": 1, "if_match": 1, "input": { "paid": true } });
    let refused = adapter.call("update_order", outdated).await;
    assert_eq!(refused.error().unwrap().code, "CONFLICT_VERSION_MISMATCH");
    conforms(&adapter).await;
}

#[tokio::test]
async fn a_foreign_database_becomes_an_adapter_and_no_other_code() {
    // REQ-COL-04
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("foreign_sqlite.sql")).unwrap();
    let remarks = [
        "The column 'left <U+202E>out */ ```' of 'a'<U+000A>macro_rules! x {}<U+000A>//' is left out, because of its type 'BLOB'.",
        "The column 'extra' of 'a'<U+000A>macro_rules! x {}<U+000A>//' has the type 'JSON', with which SQLite changes a document such as 1.0, so callers do not set it. If it has only objects and lists, remove `read_only` and `create_input`.",
    ];
    let database = Database::Sqlite(path.to_str().unwrap().to_owned());
    assert_eq!(is_as_committed(database, "foreign_sqlite.rs").await, remarks);
    let adapter = foreign_sqlite::adapter(&RusqliteDatabase::open(&path).unwrap()).unwrap();
    let created = adapter.call("create_name", json!({ "name": "Ada" })).await;
    assert_eq!(created.data()["name"]["name"], "Ada", "{:?}", created.error());
}

#[tokio::test]
async fn tables_of_postgres_become_an_adapter() {
    // REQ-COL-04, REQ-UPD-01, REQ-REL-01
    let tables = include_str!("shop_postgres.sql");
    let Some(database) = postgres::new_database(tables).await else { return };
    let remarks = [
        "The column 'flag' of 'countries' is left out, because of its type 'bytea'.",
        "The table 'order_items' has a primary key of 2 columns. A resource has one identifier.",
    ];
    assert_eq!(
        is_as_committed(Database::Postgres(database.clone()), "shop_postgres.rs").await,
        remarks
    );
    let database = PostgresDatabase::connect(&database).await.unwrap();
    let adapter = shop_postgres::adapter(&database).unwrap();
    let order =
        json!({ "quantity": 3, "kind": "retail", "tags": ["a", "b"], "extra": { "a": [1] } });
    serves(&adapter, order).await;
    conforms(&adapter).await;
}

#[tokio::test]
async fn odd_names_types_and_defaults_become_an_adapter() {
    // REQ-COL-04
    let tables = include_str!("odd_postgres.sql");
    let Some(database) = postgres::new_database(tables).await else { return };
    let remarks = [
        "The primary key of the table 'amounts' is neither a whole number nor a string nor a UUID.",
        "The table 'heir\"s' is left out, because other tables inherit from it: two rows may have the same \
         identifier.",
        "The table 'heirs' has a primary key of 0 columns. A resource has one identifier.",
        "The column 'other_id' of 'main' is not a reference, because it refers to the schema 'o'neil<U+000A>'.",
        "The default of the column 'wide' of 'order_items' does not apply: a new record without it is an error.",
        "The default of the column 'far' of 'order_items' does not apply: a new record without it is an error.",
        "The default of the column 'level' of 'order_items' does not apply: a new record without it is an error.",
        "The default of the column 'share' of 'order_update' does not apply: a new record without it is an error.",
        "The default of the column 'low' of 'order_update' does not apply: a new record without it is an error.",
        "The default of the column 'long' of 'order_update' does not apply: a new record without it is an error.",
        "The default of the column 'draft' of 'order_update' does not apply: a new record without it has no value.",
        "The default of the column 'since' of 'order_update' does not apply: a new record without it is an error.",
        "The default of the column 'pair' of 'order_update' does not apply: a new record without it is an error.",
        "The column 'nothing' of 'order_update' is left out, because of its type 'empty'.",
        "The column 'twice' of 'order_update' is left out, because the database computes it.",
        "The table 'parted' does not assign identifiers to new records, so they cannot be created.",
        "The primary key of the table 'truths' is neither a whole number nor a string nor a UUID.",
        "Views are left out. Their number: 2.",
    ];
    assert_eq!(
        is_as_committed(Database::Postgres(database.clone()), "odd_postgres.rs").await,
        remarks
    );
    let database = PostgresDatabase::connect(&database).await.unwrap();
    let adapter = odd_postgres::adapter(&database).unwrap();
    for (table, fields) in [
        ("t1", json!({ "name": "a" })),
        ("t2", json!({ "name": "a", "odd": "1st", "price": 1.25, "whole": 7.0 })),
        ("option", json!({ "value": "a", "self_value": 1, "type": "1st" })),
        ("value", json!({ "operation_value": "a", "not_value": true })),
        ("adapter", json!({ "upper": 1, "upper_value": 2, "filter": "x" })),
        ("main", json!({ "main": 1 })),
        ("detail", json!({ "main_id": 1, "note": "a" })),
        ("order", json!({ "filter": "a", "item_status": "b" })),
        ("code", json!({ "code": "de" })),
        (
            "order_item",
            json!({ "status": "open", "code": "de", "wide": 1, "far": 2, "one": 6, "level": 1 }),
        ),
        ("order_filter", json!({ "owner": 1, "owner_id": 1 })),
        (
            "order_update",
            json!({ "share": 0.5, "low": 1, "long": "x", "since": "2031-05-06", "pair": [], "bits": "101" }),
        ),
    ] {
        let created = call(&adapter, &format!("create_{table}"), fields.clone()).await;
        for (name, value) in fields.as_object().unwrap() {
            assert_eq!(&created[table][name], value, "{table}: {created}");
        }
    }
    let refused = adapter.call("create_t2", json!({ "name": "too long" })).await;
    assert_eq!(refused.error().unwrap().code, "VALIDATION_INVALID_VALUE");
    let refused = adapter.call("create_t2", json!({ "odd": "1st" })).await;
    assert_eq!(refused.error().unwrap().code, "VALIDATION_MISSING_PARAM");
    // The database also numbers columns other than the key.
    let input = json!({ "main_id": 1, "input": { "note": "b" } });
    let changed = call(&adapter, "update_detail", input).await;
    assert_eq!(changed["detail"], json!({ "main_id": 1, "note": "b", "place": 7, "turn": 9 }));
    let sorted = json!({ "filter": { "place": { "gte": 7 } }, "sort": { "field": "turn" } });
    let listed = call(&adapter, "list_details", sorted).await;
    assert_eq!(listed["items"][0]["turn"], 9, "{listed}");
    let params = json!({ "main_id": 2, "place": 1 });
    let refused = adapter.call("create_detail", params).await;
    assert_eq!(refused.error().unwrap().code, "VALIDATION_UNKNOWN_PARAM");
}

#[tokio::test]
async fn random_tables_become_an_adapter() {
    // REQ-COL-04
    let mut runner = TestRunner::deterministic();
    let tables =
        foreign_tables::tables(Dialect::Sqlite, 4).new_tree(&mut runner).unwrap().current();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("random.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch(&tables).unwrap();
    is_as_committed(Database::Sqlite(path.to_str().unwrap().to_owned()), "random_sqlite.rs").await;
    conforms(&random_sqlite::adapter(&in_memory(&tables)).unwrap()).await;
}

#[tokio::test]
async fn random_tables_of_postgres_are_read() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..5 {
        let tables = foreign_tables::tables(Dialect::Postgres, 4);
        let tables = tables.new_tree(&mut runner).unwrap().current();
        let Some(database) = postgres::new_database(&tables).await else { return };
        let database = Database::Postgres(database);
        let name = "random".to_owned();
        let request = Request { database, schema: None, tables: Vec::new(), name };
        let generated = generate(&request).await.unwrap();
        assert_eq!(generated.source.matches("-> SqlStore<").count(), 4, "{}", generated.source);
    }
}

#[tokio::test]
async fn infinite_values_of_postgres_are_counted() {
    let tables = "CREATE TABLE notes (id bigserial PRIMARY KEY, price numeric, size real, until date, made timestamptz);
        INSERT INTO notes (price, size, until, made) VALUES (1, 'NaN', 'infinity', now()),
            ('NaN', '-Infinity', NULL, '-infinity'), (1e400, 1, '2031-05-06', NULL)";
    let Some(database) = postgres::new_database(tables).await else { return };
    let (database, name) = (Database::Postgres(database), "notes".to_owned());
    let request = Request { database, schema: None, tables: Vec::new(), name };
    let remarks = generate(&request).await.unwrap().remarks;
    let found: Vec<_> = remarks.iter().map(|line| line.split(" rows").next().unwrap()).collect();
    let expected = [
        "The column 'price' of 'notes' has values that are infinite or not a number in 1 of the 3",
        "The column 'size' of 'notes' has values that are infinite or not a number in 2 of the 3",
        "The column 'until' of 'notes' has infinite values in 1 of the 3",
        "The column 'made' of 'notes' has infinite values in 1 of the 3",
    ];
    assert_eq!(found, expected, "{remarks:?}");
}
