//! Tests that a filter finds each value as it is shown, and that no value of another program makes a query fail.

use mcp_aql::Adapter;
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable};
use mcp_aql::resource::{
    MemoryRecords, PostgresDatabase, ResourceRules, RowFilter, RusqliteDatabase, SqlStore,
};
use mcp_aql_tests_databases::postgres;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ask;
use super::samples::{self, Sample};

fn in_sqlite(sql: &str) -> RusqliteDatabase {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    RusqliteDatabase::new(connection)
}

fn samples_in_sqlite(rows: &str) -> Adapter {
    let database = in_sqlite(&samples::table_sql(Dialect::Sqlite, rows));
    let store = SqlStore::new(samples::table(Dialect::Sqlite), database);
    Adapter::builder("samples").resource(store).without_config().build().unwrap()
}

/// Returns the samples in PostgreSQL, with columns of these types.
async fn samples_in_postgres(types: &[(&str, &str)], rows: &str) -> Option<Adapter> {
    let pool = postgres::pool_with_schema().await?;
    let mut sql = samples::table_sql(Dialect::Postgres, "");
    for (field, kind) in types {
        sql += &format!("ALTER TABLE sample ALTER {field} TYPE {kind};");
    }
    pool.get().await.unwrap().batch_execute(&(sql + rows)).await.unwrap();
    let store = SqlStore::new(samples::table(Dialect::Postgres), PostgresDatabase::new(pool));
    Some(Adapter::builder("samples").resource(store).without_config().build().unwrap())
}

async fn ids(adapter: &Adapter, filter: &Value) -> Vec<i64> {
    let params = json!({ "filter": filter, "first": 100, "fields": ["id"] });
    let found = ask(adapter, "list_samples", &params).await;
    let rows = found["items"].as_array().unwrap_or_else(|| panic!("{filter}: {found}"));
    rows.iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

/// Compares each shown number of a field with all others.
async fn check_numbers(adapter: &Adapter, field: &str) {
    let all = json!({ "first": 100, "fields": ["id", field] });
    let all = ask(adapter, "list_samples", &all).await;
    let rows = all["items"].as_array().unwrap();
    let shown = rows.iter().filter_map(|row| Some((row["id"].as_i64()?, row[field].as_f64()?)));
    let shown: Vec<_> = shown.collect();
    assert!(shown.len() > 1, "{all}");
    for (_, bound) in &shown {
        let expect = |holds: &dyn Fn(f64) -> bool| {
            shown.iter().filter(|(_, value)| holds(*value)).map(|(id, _)| *id).collect::<Vec<_>>()
        };
        for (test, expected) in [
            (json!(bound), expect(&|value| value == *bound)),
            (json!({ "in": [bound] }), expect(&|value| value == *bound)),
            (json!({ "gt": bound }), expect(&|value| value > *bound)),
            (json!({ "gte": bound }), expect(&|value| value >= *bound)),
            (json!({ "lt": bound }), expect(&|value| value < *bound)),
            (json!({ "lte": bound }), expect(&|value| value <= *bound)),
        ] {
            let found = ids(adapter, &json!({ field: test })).await;
            assert_eq!(found, expected, "{field} {test}: {all}");
        }
    }
    let others = ids(adapter, &json!({ field: { "ne": 1 } })).await;
    assert!(!others.is_empty());
}

/// Numbers that other programs may store, for a field of any precision.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "0.1",
    "0.1000000000000000001",
    "0.10000000149011612",
    "16777217",
    "9007199254740993",
    "-9223372036854775808",
    "1e39",
    "1e300",
    "5e-324",
    "-1e-46",
];

/// Numbers of PostgreSQL that no floating-point number represents.
const NUMERICS: [&str; 5] = ["1e400", "-1e400", "1e-400", "-1e-400", "'NaN'"];

fn rows_of(field: &str, values: &[&str]) -> String {
    let row = |value| format!("INSERT INTO sample ({field}) VALUES ({value});");
    values.iter().map(row).collect()
}

#[tokio::test]
async fn a_number_is_found_as_it_is_shown() {
    // REQ-COL-03, REQ-AGG-02
    for field in ["double", "single"] {
        check_numbers(&samples_in_sqlite(&rows_of(field, &NUMBERS)), field).await;
        let kinds = ["numeric", "double precision", "real"];
        // A `real` column shows fewer digits than an `f64` field compares.
        for kind in kinds.into_iter().filter(|kind| field == "single" || *kind != "real") {
            let mut values = NUMBERS.to_vec();
            match kind {
                "numeric" => values.extend(NUMERICS),
                "real" => {
                    values.retain(|value| !["1e39", "1e300", "5e-324", "-1e-46"].contains(value))
                }
                _ => {}
            }
            let rows = rows_of(field, &values);
            let Some(adapter) = samples_in_postgres(&[(field, kind)], &rows).await else { return };
            check_numbers(&adapter, field).await;
            if field == "double" {
                let functions = json!({ "sum": field, "avg": field, "min": field, "max": field });
                let aggregate = json!({ "aggregate": { "n": functions } });
                let found = ask(&adapter, "list_samples", &aggregate).await;
                assert!(found["aggregations"]["n"]["sum"].is_number(), "{kind}: {found}");
            }
        }
    }
}

#[tokio::test]
async fn the_smallest_integer_of_sqlite_is_a_number() {
    // REQ-AGG-02
    let rows = rows_of("double", &["-9223372036854775808", "9223372036854775807"]);
    let adapter = samples_in_sqlite(&rows);
    let functions = json!({ "sum": "double", "avg": "double", "min": "double", "max": "double" });
    let found = ask(&adapter, "list_samples", &json!({ "aggregate": { "n": functions } })).await;
    let (least, largest) = (i64::MIN as f64, i64::MAX as f64);
    let expected = json!({ "sum": 0.0, "avg": 0.0, "min": least, "max": largest });
    assert_eq!(found["aggregations"]["n"], expected, "{found}");
}

/// Instants that are valid in RFC 3339, but that no store accepts, and the reason.
const UNSUPPORTED: [(&str, &str); 4] = [
    ("9999-12-31T23:59:59-12:00", "from 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z"),
    ("0000-01-01T00:00:00+12:00", "from 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z"),
    ("2016-12-31T23:59:60Z", "seconds go from 00 to 59"),
    ("2016-12-31T23:59:60.5+02:00", "seconds go from 00 to 59"),
];

#[tokio::test]
async fn every_store_accepts_the_same_instants() {
    // REQ-ERR-02, REQ-ENC-03
    let memory = MemoryRecords::<Sample>::new();
    let memory = Adapter::builder("samples").resource(memory).without_config().build().unwrap();
    let mut adapters = vec![memory, samples_in_sqlite("")];
    adapters.extend(samples_in_postgres(&[], "").await);
    for adapter in adapters {
        for field in ["at", "local"] {
            for instant in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"] {
                let created = ask(&adapter, "create_sample", &json!({ field: instant })).await;
                assert_eq!(created["sample"][field], instant, "{created}");
                let id = created["sample"]["id"].as_i64().unwrap();
                assert_eq!(ids(&adapter, &json!({ field: instant })).await, [id]);
            }
            for (instant, reason) in UNSUPPORTED {
                let change = json!({ "id": 1, "input": { field: instant } });
                for (operation, params) in [
                    ("create_sample", json!({ field: instant })),
                    ("update_sample", change),
                    ("list_samples", json!({ "filter": { field: { "gt": instant } } })),
                ] {
                    let refused = ask(&adapter, operation, &params).await;
                    assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{refused}");
                    let message = refused["message"].as_str().unwrap();
                    assert!(message.contains(field) && message.contains(reason), "{message}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_instant_with_more_digits_than_its_column_is_found_as_it_is_shown() {
    // REQ-COL-03
    let Some(adapter) = samples_in_postgres(&[], "").await else { return };
    for field in ["at", "local"] {
        let instant = "2031-05-06T07:00:00.123456789Z";
        let created = ask(&adapter, "create_sample", &json!({ field: instant })).await;
        let id = created["sample"]["id"].as_i64().unwrap();
        let shown = &created["sample"][field];
        for test in [shown.clone(), json!({ "in": [shown] })] {
            assert_eq!(ids(&adapter, &json!({ field: test })).await, [id], "{created}");
        }
        // The row has another instant than this one, and a query in memory does not find it either.
        assert!(ids(&adapter, &json!({ field: instant })).await.is_empty(), "{created}");
    }
}

/// A switch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource)]
#[resource(operations(list), plural = "switches")]
struct Switch {
    /// Number of the switch.
    #[resource(id)]
    id: i64,
    /// Its state.
    #[resource(group)]
    on: Option<bool>,
}

#[tokio::test]
async fn groups_of_values_of_all_types_have_an_order() {
    // REQ-AGG-04
    let mut sql = "CREATE TABLE switch (id INTEGER PRIMARY KEY, \"on\");".to_owned();
    let mut groups = 0;
    for number in 0..60 {
        for value in [
            format!("{}", number % 2),
            format!("'text {number}'"),
            format!("{}", number + 2),
            format!("{number}.5"),
            format!("x'{number:02}'"),
        ] {
            sql += &format!("INSERT INTO switch (\"on\") VALUES ({value});");
        }
        groups += 4;
    }
    let table = SqlTable::<Switch>::new(Dialect::Sqlite, "switch");
    let store = SqlStore::new(table, in_sqlite(&sql));
    let adapter = Adapter::builder("switches").resource(store).without_config().build().unwrap();
    let aggregate = json!({ "n": { "count": true, "group_by": "on" } });
    let found = ask(&adapter, "list_switches", &json!({ "aggregate": aggregate })).await;
    let found = found["aggregations"]["n"].as_object().unwrap_or_else(|| panic!("{found}"));
    assert_eq!(found.len(), groups + 2);
    assert_eq!(found.get("true"), Some(&json!(30)));
}

/// A crate of an owner.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, UpdateInput)]
#[resource(operations(get, list, update, delete))]
struct Crate {
    /// Number of the crate.
    #[resource(id)]
    id: i64,
    /// The owner.
    #[resource(read_only)]
    owner: String,
    /// Weight in grams.
    #[resource(filter)]
    weight: Option<i64>,
}

#[computed_fields]
impl Crate {
    /// The owner, in a field without SQL.
    #[computed(filter)]
    fn holder(&self) -> String {
        self.owner.clone()
    }
}

/// Only the crates of one owner exist.
struct OwnCrates;

impl ResourceRules for OwnCrates {
    type Resource = Crate;

    fn visible(&self, _: &Context) -> RowFilter<Crate> {
        RowFilter::new(json!({ "_computed.holder": "ada" }))
    }
}

#[tokio::test]
async fn a_row_that_is_listed_can_be_corrected() {
    // REQ-COL-06
    let sql = "CREATE TABLE crate (id INTEGER PRIMARY KEY, owner TEXT, weight);
        INSERT INTO crate (owner, weight) VALUES ('ada', 'much'), ('eve', 'much')";
    let table = SqlTable::<Crate>::new(Dialect::Sqlite, "crate");
    let store = SqlStore::new(table, in_sqlite(sql)).with_rules(OwnCrates);
    let adapter = Adapter::builder("crates").resource(store).without_config().build().unwrap();
    let listed = ask(&adapter, "list_crates", &json!({ "fields": ["id"] })).await;
    assert_eq!(listed["items"], json!([{ "id": 1 }]), "{listed}");
    let got = ask(&adapter, "get_crate", &json!({ "id": 1 })).await;
    assert_eq!(got["crate"]["owner"], "ada", "{got}");
    let change = |id: i64| json!({ "id": id, "input": { "weight": 3 } });
    let changed = ask(&adapter, "update_crate", &change(1)).await;
    assert_eq!(changed["crate"]["weight"], 3, "{changed}");
    for (operation, params) in [
        ("update_crate", change(2)),
        ("get_crate", json!({ "id": 2 })),
        ("delete_crate", json!({ "id": 2 })),
    ] {
        let refused = ask(&adapter, operation, &params).await;
        assert_eq!(refused["code"], "NOT_FOUND_RESOURCE", "{refused}");
    }
}
