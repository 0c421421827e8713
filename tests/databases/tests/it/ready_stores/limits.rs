//! Tests tables that cannot store a resource, and values at the limits of columns.

use chrono::{DateTime, FixedOffset, Utc};
use mcp_aql::prelude::*;
use mcp_aql::query::sql::{Dialect, SqlTable, Storage};
use mcp_aql::resource::{PostgresDatabase, RusqliteDatabase, SqlStore};
use mcp_aql_tests_databases::postgres;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::missing_ids::{self, Tag};
use super::{Parcel, ask};

/// A note.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Note {
    /// Number of the note.
    #[resource(id)]
    note_id: u64,
    /// Time of the note.
    #[resource(filter, sort)]
    written: DateTime<FixedOffset>,
    /// Number of letters.
    letters: u64,
    /// Labels.
    #[param(default = [])]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
}

/// A lock.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Lock {
    /// Number of the lock.
    #[resource(id)]
    lock_id: u32,
    /// Digits that open the lock.
    #[serde(skip_serializing, default)]
    #[param(sensitive)]
    pin: String,
    /// Time of the last change.
    #[resource(read_only)]
    #[create_input(value = Utc::now())]
    #[serde(rename = "_version")]
    version: DateTime<Utc>,
}

fn sqlite(tables: &str) -> RusqliteDatabase {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(tables).unwrap();
    RusqliteDatabase::new(connection)
}

#[test]
fn a_table_that_cannot_keep_the_resource_is_reported_when_the_adapter_is_built() {
    // REQ-CON-02
    let table = SqlTable::new(Dialect::Postgres, "lock")
        .stored_as("_version", Storage::UnixSeconds)
        .column("unknown_field", "hidden");
    let store = SqlStore::<Lock, _>::new(table, sqlite(""));
    let error = Adapter::builder("door").resource(store).without_config().build().unwrap_err();
    let text = error.to_string();
    for problem in [
        "the table of 'lock': `Lock` has no field `unknown_field`",
        "the table of 'lock': the dialect differs from the dialect of the database",
        "the table of 'lock': `pin` has `#[serde(skip_serializing)]`",
        "the table of 'lock': `_version` is the version, but two changes could get the same value",
    ] {
        assert!(text.contains(problem), "{problem}: {text}");
    }
}

#[tokio::test]
async fn instants_lists_and_numbers_are_stored_as_they_are_compared() {
    // REQ-COL-04, REQ-ERR-05
    let database = sqlite(
        "CREATE TABLE note (note_id INTEGER PRIMARY KEY, written TEXT NOT NULL, letters INTEGER NOT NULL,
             labels TEXT NOT NULL)",
    );
    let store = SqlStore::<Note, _>::new(SqlTable::new(Dialect::Sqlite, "note"), database);
    let adapter = Adapter::builder("notes").resource(store).without_config().build().unwrap();
    let new =
        |letters: Value| json!({ "written": "2031-05-06T09:00:00+02:00", "letters": letters });
    let created = ask(&adapter, "create_note", &new(json!(3))).await;
    assert_eq!(created["note"]["written"], "2031-05-06T07:00:00Z", "{created}");
    for (bound, count) in [("2031-05-06T08:00:00Z", 1), ("2031-05-06T07:00:00Z", 0)] {
        let filter = json!({ "filter": { "written": { "lt": bound } } });
        let listed = ask(&adapter, "list_notes", &filter).await;
        assert_eq!(listed["pageInfo"]["totalCount"], count, "{bound}: {listed}");
    }
    let refused = ask(&adapter, "create_note", &new(json!(u64::MAX))).await;
    assert_eq!(
        refused["message"], "Parameter 'letters' must be 9223372036854775807 or less",
        "{refused}"
    );
}

#[tokio::test]
async fn a_new_record_has_a_number_next_to_odd_ones() {
    // REQ-CON-02
    let largest = i64::MAX;
    for (columns, rows, expected) in [
        ("INTEGER PRIMARY KEY, town TEXT)", format!("({largest}, 'a')"), [1, 2]),
        ("INTEGER PRIMARY KEY AUTOINCREMENT, town TEXT)", format!("({largest}, 'a')"), [1, 2]),
        (
            "INTEGER PRIMARY KEY, town TEXT)",
            format!("(7, 'a'), ({}, 'b'), ({largest}, 'c')", largest - 1),
            [8, 9],
        ),
        ("INTEGER PRIMARY KEY, town TEXT)", "(-5, 'a')".to_owned(), [1, 2]),
        (
            "INTEGER PRIMARY KEY, town TEXT) WITHOUT ROWID",
            "('x', 'a'), (2.5, 'b'), (x'00', 'c'), (1, 'd')".to_owned(),
            [3, 4],
        ),
    ] {
        let tables =
            format!("CREATE TABLE parcel (parcel_id {columns}; INSERT INTO parcel VALUES {rows}");
        let table = SqlTable::<Parcel>::new(Dialect::Sqlite, "parcel");
        let store = SqlStore::new(table, sqlite(&tables));
        let adapter = Adapter::builder("post").resource(store).without_config().build().unwrap();
        for id in expected {
            let created = ask(&adapter, "create_parcel", &json!({ "town": "Rome" })).await;
            assert_eq!(created["parcel"]["parcel_id"], id, "{tables}: {created}");
        }
    }
}

#[tokio::test]
async fn rows_without_an_identifier_are_on_pages() {
    // REQ-PAG-04, REQ-PAG-09
    for (tables, count) in missing_ids::tables() {
        let table = SqlTable::<Tag>::new(Dialect::Sqlite, "tag");
        let store = SqlStore::new(table, sqlite(&tables));
        let adapter = Adapter::builder("tags").resource(store).without_config().build().unwrap();
        missing_ids::every_row_is_on_a_page(&adapter, &tables, count).await;
    }
    let view = "CREATE TABLE own (code TEXT NOT NULL, name TEXT, rank INTEGER);
        INSERT INTO own VALUES ('a', 'x', 1), ('b', 'y', NULL);
        CREATE VIEW tag AS SELECT * FROM own";
    let store = SqlStore::new(SqlTable::<Tag>::new(Dialect::Sqlite, "tag"), sqlite(view));
    let adapter = Adapter::builder("tags").resource(store).without_config().build().unwrap();
    missing_ids::every_row_is_on_a_page(&adapter, view, 2).await;
}

/// A record whose columns may have any type.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations, plural = "loose")]
struct Loose {
    /// Number of the record.
    #[resource(id)]
    id: i64,
    /// A text.
    #[resource(filter)]
    text: Option<String>,
    /// A whole number.
    #[resource(filter)]
    whole: Option<i64>,
    /// A number.
    #[resource(filter)]
    number: Option<f64>,
    /// A flag.
    #[resource(filter)]
    flag: Option<bool>,
    /// Texts.
    list: Option<Vec<String>>,
    /// Anything.
    any: Option<Value>,
}

#[tokio::test]
async fn a_column_keeps_a_value_or_refuses_it() {
    // REQ-COL-03, REQ-ERR-02
    let texts = [
        "1e3",
        "0010",
        "10.50",
        "+5",
        " 7",
        "7 ",
        "-0",
        "0x10",
        "1_000",
        "9223372036854775808",
        "abc",
        "",
        "2031-05-06",
    ];
    let mut values: Vec<_> = texts.iter().map(|text| ("text", json!(text))).collect();
    values.extend([0, 7, 9_007_199_254_740_993_i64, i64::MIN].map(|whole| ("whole", json!(whole))));
    values
        .extend([0.5, 1.0, 1e300, 9_007_199_254_740_992.0].map(|number| ("number", json!(number))));
    values.extend([true, false].map(|flag| ("flag", json!(flag))));
    values.extend([json!([]), json!(["1"])].map(|list| ("list", list)));
    let any = [
        json!(1),
        json!(1.0),
        json!("7"),
        json!({ "a": 1.0 }),
        json!([1]),
        json!(true),
        json!("x"),
    ];
    values.extend(any.map(|any| ("any", any)));
    let mut refused_texts = 0;
    for kind in [
        "",
        "NUMERIC",
        "DECIMAL(10, 2)",
        "BOOLEAN",
        "DATE",
        "STRING",
        "TEXT",
        "VARCHAR(5)",
        "REAL",
        "INTEGER",
        "BLOB",
    ] {
        let columns = ["text", "whole", "number", "flag", "list", "any"]
            .map(|name| format!("\"{name}\" {kind}"));
        let create = format!("CREATE TABLE loose (id INTEGER PRIMARY KEY, {})", columns.join(", "));
        let store =
            SqlStore::<Loose, _>::new(SqlTable::new(Dialect::Sqlite, "loose"), sqlite(&create));
        let adapter = Adapter::builder("loose").resource(store).without_config().build().unwrap();
        let empty = ask(&adapter, "create_loose", &json!({})).await;
        let other = empty["loose"]["id"].clone();
        for (field, value) in &values {
            let context = format!("{kind} {field} {value}");
            let before = ask(&adapter, "list_loose", &json!({ "first": 100 })).await;
            let change = json!({ "id": other, "input": { *field: value } });
            for (operation, params, place) in [
                ("create_loose", &json!({ *field: value }), ""),
                ("update_loose", &change, "input."),
            ] {
                let reply = adapter.call(operation, params.clone()).await;
                let Some(refused) = reply.error() else {
                    let id = &reply.data()["loose"]["id"];
                    let found = adapter.call("get_loose", json!({ "id": id })).await;
                    assert_eq!(&found.data()["loose"][*field], value, "{context}: {operation}");
                    assert!(found.warnings().is_empty(), "{context}: {operation}");
                    continue;
                };
                refused_texts += usize::from(*field == "text");
                assert_eq!(refused.code, "VALIDATION_INVALID_VALUE", "{context}: {operation}");
                assert_eq!(refused.details["param_name"], format!("{place}{field}"), "{context}");
                assert!(refused.message.contains(&format!("'{place}{field}'")), "{context}");
            }
            let undo = json!({ "id": other, "input": { *field: null } });
            ask(&adapter, "update_loose", &undo).await;
            let after = ask(&adapter, "list_loose", &json!({ "first": 100 })).await;
            let count = |page: &Value| page["items"].as_array().map(Vec::len);
            assert!(count(&after) >= count(&before), "{context}");
        }
    }
    assert!(refused_texts > 0);
    // An update of other fields keeps a value of another program.
    let rows =
        "CREATE TABLE loose (id INTEGER PRIMARY KEY, text NUMERIC, whole, number, flag, list, any);
        INSERT INTO loose (text) VALUES ('007')";
    let store = SqlStore::<Loose, _>::new(SqlTable::new(Dialect::Sqlite, "loose"), sqlite(rows));
    let adapter = Adapter::builder("loose").resource(store).without_config().build().unwrap();
    let change = json!({ "id": 1, "input": { "whole": 3 } });
    let changed = ask(&adapter, "update_loose", &change).await;
    assert_eq!(changed["loose"]["whole"], 3, "{changed}");
    let change = json!({ "id": 1, "input": { "text": "008" } });
    let refused = ask(&adapter, "update_loose", &change).await;
    assert_eq!(refused["code"], "VALIDATION_INVALID_VALUE", "{refused}");
}

/// A form with a document of any kind.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput, UpdateInput)]
#[resource(operations)]
struct Form {
    /// Number of the form.
    #[resource(id)]
    id: i64,
    /// The content of the form.
    #[param(default = Value::Null)]
    content: Value,
}

#[tokio::test]
async fn a_document_may_be_null() {
    // REQ-COL-04
    let of_sqlite =
        "CREATE TABLE form (id INTEGER PRIMARY KEY, content TEXT NOT NULL DEFAULT 'null')";
    let store = SqlStore::<Form, _>::new(SqlTable::new(Dialect::Sqlite, "form"), sqlite(of_sqlite));
    let builder = || Adapter::builder("forms").without_config();
    let mut adapters = vec![builder().resource(store).build().unwrap()];
    if let Some(pool) = postgres::pool_with_schema().await {
        let table =
            "CREATE TABLE form (id bigserial PRIMARY KEY, content jsonb NOT NULL DEFAULT 'null')";
        pool.get().await.unwrap().batch_execute(table).await.unwrap();
        let table = SqlTable::<Form>::new(Dialect::Postgres, "form");
        let store = SqlStore::new(table, PostgresDatabase::new(pool));
        adapters.push(builder().resource(store).build().unwrap());
    }
    for adapter in adapters {
        let created = ask(&adapter, "create_form", &json!({})).await;
        assert_eq!(created["form"]["content"], Value::Null, "{created}");
        for content in [json!({ "a": 1 }), json!(null), json!("x")] {
            let change = json!({ "id": 1, "input": { "content": content } });
            let changed = ask(&adapter, "update_form", &change).await;
            assert_eq!(changed["form"]["content"], content, "{changed}");
        }
    }
}

/// A badge with one of 255 numbers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Resource, CreateInput)]
#[resource(operations(create))]
struct Badge {
    /// Number of the badge.
    #[resource(id)]
    badge_id: u8,
}

#[tokio::test]
async fn a_record_is_rejected_when_the_numbers_are_used_up() {
    // REQ-ERR-02
    let builder = || Adapter::builder("gate").without_config();
    let used = "CREATE TABLE badge (badge_id INTEGER PRIMARY KEY); INSERT INTO badge VALUES (254)";
    let table = SqlTable::<Badge>::new(Dialect::Sqlite, "badge");
    let store = SqlStore::new(table, sqlite(used));
    let mut adapters = vec![builder().resource(store).build().unwrap()];
    // The numbers of the type end in the second table, and those of the sequence in the third one.
    for limit in ["", "ALTER SEQUENCE badge_badge_id_seq MAXVALUE 255;"] {
        let Some(pool) = postgres::pool_with_schema().await else { continue };
        let used = format!(
            "CREATE TABLE badge (badge_id bigserial PRIMARY KEY); {limit}
            SELECT setval('badge_badge_id_seq', 254)"
        );
        pool.get().await.unwrap().batch_execute(&used).await.unwrap();
        let table = SqlTable::<Badge>::new(Dialect::Postgres, "badge");
        let store = SqlStore::new(table, PostgresDatabase::new(pool));
        adapters.push(builder().resource(store).build().unwrap());
    }
    for adapter in adapters {
        let last = ask(&adapter, "create_badge", &json!({})).await;
        assert_eq!(last["badge"]["badge_id"], 255, "{last}");
        let refused = ask(&adapter, "create_badge", &json!({})).await;
        assert_eq!(refused["code"], "CONFLICT_ALREADY_EXISTS", "{refused}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.starts_with("No other 'badge' can be created"), "{message}");
    }
}
